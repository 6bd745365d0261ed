// ContainerRuntime: see container_runtime.hpp.
#include "transports/container_runtime/container_runtime.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kCalls{.name = "koordlet_container_runtime_calls_total",
                                 .help = "Calls of the container runtime's CRI, by their gRPC status.",
                                 .labels = {"method", "status"}};

struct Place {
  std::string_view scheme, below_var_run;
};
/// As the original looks for them.
constexpr Place kPlaces[] = {{"containerd", "containerd/containerd.sock"},
                             {"containerd", "containerd.sock"},
                             {"cri-o", "crio/crio.sock"},
                             {"cri-o", "crio.sock"}};

bool is_socket(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

std::string_view last_word(std::string_view method) { return method.substr(method.rfind('/') + 1); }
std::string_view scheme_of(std::string_view full_id) {
  const auto at = full_id.find("://");
  return at == std::string_view::npos ? std::string_view() : full_id.substr(0, at);
}

}  // namespace

const metrics::Table ContainerRuntime::kMetrics = {&kCalls};

ContainerRuntime::ContainerRuntime(rpc::Engine& engine, metrics::Registry& metrics, Options options)
    : engine_(engine), options_(std::move(options)), calls_(metrics.counters(kCalls)) {
  constexpr std::string_view kUnix = "unix://";
  if (options_.endpoint.starts_with(kUnix)) options_.endpoint.erase(0, kUnix.size());
}

std::string ContainerRuntime::socket(std::string_view scheme) const {
  if (!options_.endpoint.empty()) return is_socket(options_.endpoint) ? options_.endpoint : std::string();
  for (const Place& place : kPlaces) {
    if (!scheme.empty() && scheme != place.scheme) continue;
    std::string path = fmt::format("{}{}", options_.var_run, place.below_var_run);
    if (is_socket(path)) return path;
  }
  return {};
}

std::string_view ContainerRuntime::scheme() const {
  if (!options_.endpoint.empty())
    return options_.endpoint.find("crio") == std::string::npos ? "containerd" : "cri-o";
  const std::string path = socket("");
  for (const Place& place : kPlaces)
    if (path.ends_with(place.below_var_run)) return place.scheme;
  return {};
}

Task<Result<std::string>> ContainerRuntime::call(std::string_view scheme, std::string_view method,
                                                 std::string message, nanoseconds within) {
  const std::string path = socket(scheme);
  if (path.empty()) co_return Error(Code::unsupported, "no container runtime has a CRI socket here");
  auto& channel = channels_[path];
  if (!channel) {
    rpc::ChannelOptions options;
    options.path = path;
    channel = std::make_unique<rpc::Channel>(engine_, std::move(options));
  }
  rpc::Request request{
      .method = std::string(method), .message = std::move(message), .metadata = {}, .time_left = within};
  rpc::Reply reply = co_await channel->call(std::move(request));
  calls_.with({last_word(method), rpc::to_string(reply.status.code)}).inc();
  if (!reply.status.ok()) co_return reply.status.error().context(path);
  co_return std::move(reply.message);
}

Task<Result<>> ContainerRuntime::stop(const ContainerInfo& container, nanoseconds within) {
  constexpr std::int64_t kAtOnce = 0;
  const std::string_view scheme = scheme_of(container.full_id);
  // Another runtime's id means nothing to the one that is there.
  if (scheme != "containerd" && scheme != "cri-o")
    co_return Error(Code::unsupported, fmt::format("{}: its runtime speaks no CRI", container.full_id));
  KOORD_CO_TRY(answer, co_await call(scheme, rpc::cri::method::kStopContainer,
                                     rpc::cri::stop_request(container.id, kAtOnce), within));
  (void)answer;
  co_return Result<>();
}

Task<Result<std::vector<rpc::cri::RuntimeContainer>>> ContainerRuntime::running(nanoseconds within) {
  KOORD_CO_TRY(answer, co_await call("", rpc::cri::method::kListContainers,
                                     rpc::cri::list_request(rpc::cri::ContainerState::running), within));
  co_return rpc::cri::read_listed(answer);
}

Task<Result<std::vector<StartedContainer>>> ContainerRuntime::started(nanoseconds within) {
  const std::string_view of = scheme();
  KOORD_CO_TRY(containers, co_await running(within));
  std::vector<StartedContainer> all;
  for (rpc::cri::RuntimeContainer& one : containers) {
    if (one.pod_uid.empty() || one.state != rpc::cri::ContainerState::running) continue;
    all.push_back({std::move(one.pod_uid), std::move(one.name), fmt::format("{}://{}", of, one.id)});
  }
  co_return all;
}

Task<Result<rpc::cri::RuntimeVersion>> ContainerRuntime::version(nanoseconds within) {
  KOORD_CO_TRY(answer, co_await call("", rpc::cri::method::kVersion, rpc::cri::version_request(), within));
  co_return rpc::cri::read_version(answer);
}

}  // namespace koord::koordlet
