#include "net/secure_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace phalanx::net {
namespace {

struct End {
  std::string got, why;
  bool ready = false, closed = false;
  std::unique_ptr<SecureStream> stream;

  void open(Loop& loop, int socket, SecureStream::Role role, const std::string& identity,
            const std::string& secret) {
    stream = std::make_unique<SecureStream>(
        loop, UniqueFd(socket), role, identity, secret,
        SecureStream::Calls{[this] { ready = true; }, [this](std::string_view bytes) { got += bytes; },
                            [this, &loop](const std::string& reason) {
                              closed = true;
                              why = reason;
                              loop.stop();
                            }});
  }
};

struct Talk {
  Loop loop;
  End client, server;
  Loop::Timer patience;

  Talk(const std::string& client_secret, const std::string& server_secret,
       const std::string& identity = "job") {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    client.open(loop, ends[0], SecureStream::Role::client, identity, client_secret);
    server.open(loop, ends[1], SecureStream::Role::server, "job", server_secret);
  }
  void until(const std::function<bool()>& holds) {
    std::function<void()> look = [&] {
      if (holds()) return loop.stop();
      patience = loop.after(std::chrono::milliseconds(1), look);
    };
    look();
    loop.run();
  }
};

TEST(SecureStream, those_who_share_the_secret_talk) {
  const std::string secret(kSecretSize, 's');
  Talk talk(secret, secret);
  const std::string much(3u << 20, 'x');
  talk.client.stream->send("early ");
  talk.server.stream->send(much);
  talk.until([&] { return talk.client.got.size() == much.size() && talk.server.got.size() == 6; });
  EXPECT_TRUE(talk.client.ready && talk.server.ready) << talk.client.why << " / " << talk.server.why;
  EXPECT_EQ(talk.server.got, "early ");
  EXPECT_EQ(talk.client.got, much);
}

TEST(SecureStream, another_secret_is_refused_before_a_byte_is_read) {
  Talk talk(std::string(kSecretSize, 'a'), std::string(kSecretSize, 'b'));
  talk.client.stream->send("secret word");
  talk.loop.run();
  EXPECT_TRUE(talk.server.got.empty());
  EXPECT_FALSE(talk.server.ready);
}

TEST(SecureStream, another_job_is_refused) {
  const std::string secret(kSecretSize, 's');
  Talk talk(secret, secret, "other");
  talk.loop.run();
  EXPECT_FALSE(talk.client.ready || talk.server.ready);
}

TEST(SecureStream, rubbish_closes_it) {
  Loop loop;
  End server;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd stranger(ends[0]);
  server.open(loop, ends[1], SecureStream::Role::server, "job", std::string(kSecretSize, 's'));
  ASSERT_GT(::send(stranger.get(), "GET / HTTP/1.0\r\n\r\n", 18, 0), 0);
  loop.run();
  EXPECT_TRUE(server.closed);
  EXPECT_FALSE(server.ready);
  EXPECT_NE(server.why, "");
}

}  // namespace
}  // namespace phalanx::net
