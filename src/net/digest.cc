#include "net/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/files.h"

namespace phalanx::net {

Result<std::string> sha256_of_file(const std::string& path) {
  const UniqueFd file = TRY(open_file(path, O_RDONLY));
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                          ::EVP_MD_CTX_free);
  bool good = context && ::EVP_DigestInit_ex(context.get(), ::EVP_sha256(), nullptr) == 1;
  std::string buffer(1u << 18, '\0');
  for (ssize_t n; good && (n = ::read(file.get(), buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(path);
    good = ::EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(n)) == 1;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (!good || ::EVP_DigestFinal_ex(context.get(), digest, &size) != 1)
    return Error{Code::internal, "OpenSSL cannot make a digest"};
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace phalanx::net
