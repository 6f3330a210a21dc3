// test_folder.h - a folder for one test, gone with it.
#pragma once

#include <stdlib.h>

#include <string>

#include "base/files.h"

namespace phalanx::job {

struct TestFolder {
  TestFolder() {
    const char* base = std::getenv("TMPDIR");
    path = std::string(base != nullptr ? base : "/tmp") + "/phalanx_test_XXXXXX";
    CHECK(::mkdtemp(path.data()) != nullptr);
  }
  ~TestFolder() { (void)remove_tree(path); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path;
};

}  // namespace phalanx::job
