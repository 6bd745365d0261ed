// FakeRuntime: a container runtime's side of NRI on a real socket: what containerd says to a plugin.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/rpc/nri.hpp"
#include "koord/rpc/ttrpc.hpp"

namespace koord::koordlet::testing {

class FakeRuntime {
 public:
  using Acceptor = asio::local::stream_protocol::acceptor;

  FakeRuntime(asio::any_io_executor executor, Clock& clock, std::string socket)
      : executor_(std::move(executor)), clock_(clock), socket_(std::move(socket)) {}

  void listen() {
    ::unlink(socket_.c_str());
    acceptor_.emplace(executor_, asio::local::stream_protocol::endpoint(socket_));
  }
  void close() {
    acceptor_.reset();
    ::unlink(socket_.c_str());
  }

  /// One connection after the other: `talk` is what is said once a plugin has registered.
  using Talk = std::function<Task<Result<>>(FakeRuntime&)>;
  Task<Result<>> serve(Talk talk) {
    while (acceptor_) {
      auto [failed, socket] = co_await acceptor_->async_accept(asio::as_tuple(asio::use_awaitable));
      if (failed) co_return Error(Code::cancelled, failed.message());
      ++connections;
      auto adopted = rpc::ttrpc::Connection::adopt(executor_, socket.release(), {{2, 1, 64}, 1 << 24});
      if (!adopted) co_return adopted.error();
      connection = std::move(*adopted);
      registered.reset();
      TaskGroup tasks(executor_);
      tasks.spawn("talk", say(talk));
      const auto answer = [this](const rpc::ttrpc::Request& request) {
        asked.push_back(request.method);
        if (request.method == "RegisterPlugin") {
          plugin = rpc::nri::decode_register_plugin(request.payload).value();
          registered.set();
        }
        return refuse ? rpc::ttrpc::Response{{rpc::StatusCode::unknown, *refuse, {}}, {}}
                      : rpc::ttrpc::Response{};
      };
      (void)co_await with_cleanup(connection->serve(answer), tasks.stop(clock_, std::chrono::seconds(1)));
    }
    co_return Result<>();
  }

  Task<rpc::ttrpc::Response> call(std::string method, std::string payload) {
    co_return co_await connection->call(
        {std::string(rpc::nri::kPluginService), std::move(method), std::move(payload), {}});
  }
  /// Configure, as a containerd of this release does; the events that the plugin asks for.
  Task<Result<std::int32_t>> configure(std::string version, std::string nri = "") {
    const auto response = co_await call(
        "Configure",
        encode(rpc::nri::Configure{"", "containerd", std::move(version), std::move(nri), 5000, 2000}));
    if (!response.status.ok()) co_return response.status.error();
    co_return rpc::nri::decode_events(response.payload);
  }

  std::unique_ptr<rpc::ttrpc::Connection> connection;
  std::vector<std::string> asked;
  std::optional<rpc::nri::RegisterPlugin> plugin;
  std::optional<std::string> refuse;
  Event registered;
  int connections = 0;

 private:
  Task<Result<>> say(Talk talk) {
    KOORD_CO_CHECK(co_await registered.wait());
    co_return co_await talk(*this);
  }

  asio::any_io_executor executor_;
  Clock& clock_;
  std::string socket_;
  std::optional<Acceptor> acceptor_;
};

}  // namespace koord::koordlet::testing
