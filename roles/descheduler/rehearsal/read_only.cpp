// ReadOnlyClients: see read_only.hpp.
#include "rehearsal/read_only.hpp"

#include <fmt/format.h>

#include "koord/kube/config.hpp"

namespace koord::descheduler::rehearsal {

class ReadOnlyClients::Reader final : public kube::Transport {
 public:
  explicit Reader(std::unique_ptr<kube::Transport> way) : way_(std::move(way)) {}

  Task<Result<net::Response>> send(const net::Request& request) override {
    if (request.method != "GET") co_return refused(request);
    co_return co_await way_->send(request);
  }
  Task<Result<std::unique_ptr<net::Stream>>> open_stream(net::Request request) override {
    if (request.method != "GET") co_return refused(request);
    co_return co_await way_->open_stream(std::move(request));
  }

 private:
  static Error refused(const net::Request& request) {
    return Error(Code::forbidden, fmt::format("{} {}: a dry run only reads", request.method, request.target));
  }
  std::unique_ptr<kube::Transport> way_;
};

ReadOnlyClients::ReadOnlyClients(std::unique_ptr<kube::Transport> transport, Clock& clock)
    : reader_(std::make_unique<Reader>(std::move(transport))),
      client_(std::make_unique<kube::Client>(*reader_, clock, kube::Client::Options{})) {}

ReadOnlyClients::~ReadOnlyClients() = default;

Result<kube::Client*> ReadOnlyClients::client(const runtime::ClientSettings&) { return client_.get(); }

Result<kube::ClientConfig> ReadOnlyClients::config(const runtime::ClientSettings&) {
  return Error(Code::unavailable, "a dry run asks the API server alone");
}

}  // namespace koord::descheduler::rehearsal
