// TokenGate: delegated authentication and authorization for one path.
#include "koord/runtime/token_gate.hpp"

#include <fmt/format.h>

#include "delegated_auth.hpp"

namespace koord::runtime {

class TokenGate::Impl {
 public:
  Impl(asio::any_io_executor executor, Clock& clock, kube::Client& client, std::string path)
      : path_(std::move(path)), reviewer_(client, client), auth_(std::move(executor), reviewer_, clock, {}) {}

  Task<std::optional<net::Response>> refuse(std::string_view token) {
    if (token.empty()) co_return net::Response::text(401, "Unauthorized\n");
    net::Request question;
    question.path = path_;
    question.headers.add("Authorization", fmt::format("Bearer {}", token));
    question.peer = nobody_;
    co_return co_await auth_.refuse(question, true);
  }
  Task<> stop() { return auth_.stop(); }

 private:
  const std::string path_;
  const std::shared_ptr<const net::Peer> nobody_ = std::make_shared<const net::Peer>();
  KubeReviewer reviewer_;
  DelegatedAuth auth_;
};

TokenGate::TokenGate(asio::any_io_executor executor, Clock& clock, kube::Client& client, std::string path)
    : impl_(std::make_unique<Impl>(std::move(executor), clock, client, std::move(path))) {}
TokenGate::~TokenGate() = default;
Task<std::optional<net::Response>> TokenGate::refuse(std::string_view token) { return impl_->refuse(token); }
Task<> TokenGate::stop() { return impl_->stop(); }

}  // namespace koord::runtime
