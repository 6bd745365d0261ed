// PodResources: see pod_resources.hpp.
#include "transports/pod_resources/pod_resources.hpp"

#include <unistd.h>

#include <utility>

#include "koord/async/timer.hpp"
#include "koord/rpc/channel.hpp"
#include "koord/rpc/pod_resources.hpp"
#include "koord/rpc/server.hpp"
#include "transports/pod_resources/given_devices.hpp"

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kServing{
    .name = "koordlet_pod_resources_serving",
    .type = metrics::Type::gauge,
    .help = "Whether the kubelet's pod resources are served with the scheduler's devices."};

constexpr nanoseconds kGrace = std::chrono::seconds(1);
/// Who gives no time has this much.
constexpr nanoseconds kPatience = std::chrono::seconds(10);
constexpr std::size_t kMemory = std::size_t{64} << 20, kConnections = 32;

rpc::ChannelOptions channel_options(const PodResources::Options& options) {
  rpc::ChannelOptions made;
  made.path = options.kubelet;
  return made;
}

rpc::ServerOptions server_options(const PodResources::Options& options, rpc::Channel& kubelet,
                                  const Logger& log) {
  rpc::ServerOptions made;
  made.socket.path = options.socket;
  made.socket.users = {0};
  if (::geteuid() != 0) made.socket.users.push_back(::geteuid());
  made.memory = kMemory;
  made.max_connections = kConnections;
  made.rest = &kubelet;
  made.log = log;
  return made;
}

}  // namespace

const metrics::Table PodResources::kMetrics = {&kServing};

class PodResources::Impl {
 public:
  using Add = Result<std::string> (*)(std::string_view bytes,
                                      const rpc::pod_resources::DevicesOf& devices_of);

  Impl(Parts parts, Options options)
      : parts_(std::move(parts)),
        options_(std::move(options)),
        serving_(parts_.metrics.gauge(kServing)),
        kubelet_(parts_.engine, channel_options(options_)),
        server_(parts_.engine, parts_.clock, server_options(options_, kubelet_, parts_.log)) {
    serve(rpc::pod_resources::kList, &rpc::pod_resources::add_to_list);
    serve(rpc::pod_resources::kGet, &rpc::pod_resources::add_to_pod);
  }

  Task<Result<>> run() {
    std::string told;
    for (;;) {
      if (const auto listening = listening_ ? Result<>() : server_.listen(); listening) {
        if (!listening_) parts_.log.info("pod resources are served", kv("socket", options_.socket));
        listening_ = true;
        serving_.set(1);
      } else if (listening.error().message() != std::exchange(told, listening.error().message())) {
        parts_.log.warn("pod resources are not served", kv("socket", options_.socket),
                        kv("error", listening.error()));
      }
      KOORD_CO_CHECK(co_await sleep(parts_.clock, options_.again));
    }
  }

  Task<> stop() {
    serving_.set(0);
    if (listening_) co_await server_.stop(kGrace);
    listening_ = false;
  }

 private:
  void serve(std::string_view method, Add add) {
    server_.handle(std::string(method),
                   [this, add](rpc::Request request) { return answer(std::move(request), add); });
  }

  /// What the kubelet refuses is refused.
  Task<rpc::Reply> answer(rpc::Request request, Add add) {
    if (!request.time_left) request.time_left = kPatience;
    rpc::Reply reply = co_await kubelet_.call(std::move(request));
    if (!reply.status.ok()) co_return reply;
    const std::shared_ptr<const Inventory> inventory = parts_.hub.current();
    auto added = add(reply.message, [&inventory](std::string_view ns, std::string_view name) {
      return given_devices(*inventory, ns, name);
    });
    if (!added)
      co_return rpc::Reply{.status = rpc::Status::of(added.error().context("the kubelet's answer")),
                           .message = {}};
    reply.message = std::move(*added);
    co_return reply;
  }

  Parts parts_;
  Options options_;
  metrics::Gauge serving_;
  rpc::Channel kubelet_;
  rpc::Server server_;
  bool listening_ = false;
};

PodResources::PodResources(Parts parts, Options options)
    : impl_(std::make_unique<Impl>(std::move(parts), std::move(options))) {}
PodResources::~PodResources() = default;
Task<Result<>> PodResources::run() { return impl_->run(); }
Task<> PodResources::stop() { return impl_->stop(); }

}  // namespace koord::koordlet
