// TokenGate: whoever shows a token that the API server knows, and may do one thing there, gets in.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/net/message.hpp"

namespace koord::kube {
class Client;
}

namespace koord::runtime {

/// For a port of its own, beside those that secure_serving_flags() open. It asks by TokenReview and
/// SubjectAccessReview and remembers the answers for 10 s, in bounded memory; where they cannot be asked
/// nobody gets in. One thread.
class TokenGate {
 public:
  /// `path`: a nonResourceURL ("/ui") on which everybody needs the verb `get`. The client outlives it.
  TokenGate(asio::any_io_executor executor, Clock& clock, kube::Client& client, std::string path);
  ~TokenGate();
  TokenGate(const TokenGate&) = delete;
  TokenGate& operator=(const TokenGate&) = delete;

  /// Nothing if the token's owner may, else 401, 403 or 500. An empty token is nobody's.
  Task<std::optional<net::Response>> refuse(std::string_view token);
  /// Before the end, where a question may be under way.
  Task<> stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::runtime
