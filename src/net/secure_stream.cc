#include "net/secure_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "net/address.h"

namespace phalanx::net {

namespace {

constexpr unsigned char kCipher[] = {0x13, 0x02};  // TLS_AES_256_GCM_SHA384
constexpr int kPatienceMs = 5000;                  // as long as a node's lease

std::string last_error(const char* otherwise) {
  const unsigned long error = ::ERR_get_error();
  ::ERR_clear_error();
  const char* reason = error ? ::ERR_reason_error_string(error) : nullptr;
  return reason ? reason : otherwise;
}

}  // namespace

Result<std::string> random_secret() {
  std::string secret(kSecretSize, '\0');
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    return errno_error("getrandom");
  return secret;
}

std::string random_token() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string token;
  for (const char byte : random_secret().value_or(std::string(16, '\0')).substr(0, 16)) {
    token += kDigits[(byte >> 4) & 15];
    token += kDigits[byte & 15];
  }
  return token;
}

// What both of OpenSSL's callbacks need.
struct SecureStream::Keys {
  std::string identity, secret;

  SSL_SESSION* session(SSL* ssl) const {
    SSL_SESSION* made = ::SSL_SESSION_new();
    const SSL_CIPHER* cipher = ::SSL_CIPHER_find(ssl, kCipher);
    if (made && cipher &&
        ::SSL_SESSION_set1_master_key(made, reinterpret_cast<const unsigned char*>(secret.data()),
                                      secret.size()) == 1 &&
        ::SSL_SESSION_set_cipher(made, cipher) == 1 &&
        ::SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) == 1)
      return made;
    ::SSL_SESSION_free(made);
    return nullptr;
  }

  static int use(SSL* ssl, const EVP_MD* hash, const unsigned char** id, size_t* size,
                 SSL_SESSION** session) {
    const auto* keys = static_cast<const Keys*>(SSL_get_app_data(ssl));
    *session = nullptr;
    if (hash && ::EVP_MD_get_type(hash) != NID_sha384) return 1;  // this key is not for that hash
    *session = keys->session(ssl);
    *id = reinterpret_cast<const unsigned char*>(keys->identity.data());
    *size = keys->identity.size();
    return *session ? 1 : 0;
  }

  static int find(SSL* ssl, const unsigned char* id, size_t size, SSL_SESSION** session) {
    const auto* keys = static_cast<const Keys*>(SSL_get_app_data(ssl));
    *session = nullptr;
    if (std::string_view(reinterpret_cast<const char*>(id), size) != keys->identity) return 1;
    *session = keys->session(ssl);
    return *session ? 1 : 0;
  }
};

struct SecureStream::Session {
  Keys keys;
  SSL_CTX* context = nullptr;
  SSL* ssl = nullptr;

  Session(Role role, int socket, Keys with) : keys(std::move(with)) {
    context = ::SSL_CTX_new(role == Role::client ? ::TLS_client_method() : ::TLS_server_method());
    if (!context) return;
    ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    ::SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384");
    // A client takes no certificate: it knows no authority. A server has none to offer.
    ::SSL_CTX_set_verify(context, role == Role::client ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_num_tickets(context, 0);
    ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (role == Role::client)
      ::SSL_CTX_set_psk_use_session_callback(context, &Keys::use);
    else
      ::SSL_CTX_set_psk_find_session_callback(context, &Keys::find);
    ssl = ::SSL_new(context);
    if (!ssl) return;
    SSL_set_app_data(ssl, &keys);
    ::SSL_set_fd(ssl, socket);
    role == Role::client ? ::SSL_set_connect_state(ssl) : ::SSL_set_accept_state(ssl);
  }
  ~Session() {
    ::SSL_free(ssl);
    ::SSL_CTX_free(context);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

SecureStream::SecureStream(Loop& loop, UniqueFd socket, Role role, const std::string& identity,
                           const std::string& secret, Calls calls)
    : loop_(loop),
      socket_(std::move(socket)),
      calls_(std::make_shared<const Calls>(std::move(calls))),
      session_(std::make_unique<Session>(role, socket_.get(), Keys{identity, secret})),
      connected_(role == Role::server) {
  set_patience(socket_.get(), kPatienceMs);
  watch_ = loop_.watch(socket_.get(), connected_ ? EPOLLIN : EPOLLOUT,
                       [this](uint32_t events) { on_ready(events); });
}

SecureStream::~SecureStream() = default;

void SecureStream::set_calls(Calls calls) { calls_ = std::make_shared<const Calls>(std::move(calls)); }

template <class Use>
void SecureStream::call(Use use) {
  const auto current = calls_;
  use(*current);
}

void SecureStream::on_ready(uint32_t) {
  if (!session_->ssl) return close("OpenSSL cannot begin");
  if (!connected_) {
    const Status made = connected(socket_.get());
    if (!made) return close(made.error().reason);
    connected_ = true;
  }
  if (!secured_ && !handshake()) return;
  read_some();
  if (!closed()) write_some();
}

bool SecureStream::handshake() {
  ::ERR_clear_error();
  const int done = ::SSL_do_handshake(session_->ssl);
  if (done != 1) {
    want(::SSL_get_error(session_->ssl, done));
    return false;
  }
  if (::SSL_session_reused(session_->ssl) != 1) {
    close("the other end does not know the secret");
    return false;
  }
  secured_ = true;
  watch_.want(EPOLLIN);
  call([](const Calls& calls) { calls.ready(); });
  return !closed();
}

// What a call that could not go on waits for.
void SecureStream::want(int error) {
  if (error == SSL_ERROR_WANT_READ) return watch_.want(EPOLLIN);
  if (error == SSL_ERROR_WANT_WRITE) return watch_.want(EPOLLIN | EPOLLOUT);
  if (error == SSL_ERROR_ZERO_RETURN) return close("");
  const int number = errno;
  if (error == SSL_ERROR_SYSCALL && number != 0) return close(std::strerror(number));
  close(secured_ ? last_error("the connection was cut") : "no secure connection: " + last_error("cut off"));
}

void SecureStream::read_some() {
  std::string buffer(16384, '\0');
  while (!closed()) {
    ::ERR_clear_error();
    errno = 0;
    const int n = ::SSL_read(session_->ssl, buffer.data(), static_cast<int>(buffer.size()));
    if (n <= 0) {
      const int error = ::SSL_get_error(session_->ssl, n);
      return error == SSL_ERROR_WANT_READ ? void() : want(error);
    }
    call([&](const Calls& calls) { calls.bytes({buffer.data(), static_cast<size_t>(n)}); });
  }
}

void SecureStream::send(std::string_view bytes) {
  if (closed()) return;
  unsent_ += bytes;
  if (secured_) write_some();
}

void SecureStream::write_some() {
  while (sent_ < unsent_.size()) {
    ::ERR_clear_error();
    errno = 0;
    const size_t most = std::min<size_t>(unsent_.size() - sent_, 1u << 20);
    const int n = ::SSL_write(session_->ssl, unsent_.data() + sent_, static_cast<int>(most));
    if (n <= 0) break;  // full: EPOLLOUT comes; broken: reading finds the end
    sent_ += static_cast<size_t>(n);
  }
  if (sent_ == unsent_.size() || sent_ > unsent_.size() / 2) {
    unsent_.erase(0, sent_);
    sent_ = 0;
  }
  const bool wants = !unsent_.empty();
  if (wants != wants_write_) watch_.want(wants ? EPOLLIN | EPOLLOUT : EPOLLIN);
  const bool drained = wants_write_ && !wants;
  wants_write_ = wants;
  if (drained)
    call([](const Calls& calls) {
      if (calls.drained) calls.drained();
    });
}

void SecureStream::close(const std::string& why) {
  if (closed()) return;
  watch_.cancel();
  socket_.reset();
  call([&](const Calls& calls) { calls.closed(why); });
}

}  // namespace phalanx::net
