// digest.h - what a file's content is called.
#pragma once

#include <string>

#include "base/result.h"

namespace phalanx::net {

Result<std::string> sha256_of_file(const std::string& path);  // 64 hexadecimal digits

}  // namespace phalanx::net
