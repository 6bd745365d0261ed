// A plain flood of what a scheduler writes: for each waiting pod a Binding and a Scheduled event, before them
// a patch of an annotation with --patch, with --claims what is written of the pod's claim (NAME-gpu), over
// many connections. The bound that a scheduler's rate is compared with.
//   flood [--pods N] [--nodes N] [--connections N] [--patch] [--claims] [--no-events] [--no-setup]
//   (KUBECONFIG names the server)
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/events_v1/event.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/config.hpp"

using namespace koord;
using namespace koord::kube;

namespace {

struct Settings {
  int pods = 5000, nodes = 1000, connections = 64;
  bool events = true, setup = true, patch = false, claims = false;
};

struct Flood {
  Client& client;
  Clock& clock;
  Settings settings;
  std::vector<std::string> pods;
  std::string started;
  int next = 0;
  int failed = 0;
  std::string first_error;

  void fail(const Error& error) {
    if (failed++ == 0) first_error = error.message();
  }
};

const std::string kNamespace = "flood";

Task<> make_nodes(Flood& flood) {
  while (flood.next < flood.settings.nodes) {
    const std::string name = "flood-node-" + std::to_string(flood.next++);
    std::string body = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
                       R"("},"status":{"capacity":{"cpu":"64","memory":"256Gi","pods":"500"}}})";
    const auto made = co_await flood.client.create_raw(api::kind<api::Node>(), "", std::move(body));
    if (!made && made.error().code() != Code::already_exists) flood.fail(made.error());
  }
}

Task<> make_pods(Flood& flood) {
  while (flood.next < flood.settings.pods) {
    const std::string name = "flood-" + std::to_string(flood.next++);
    std::string body =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
        R"("},"spec":{"schedulerName":"flood","containers":[{"name":"c","image":"i","resources":)"
        R"({"requests":{"cpu":"100m","memory":"64Mi"}}}]}})";
    const auto made = co_await flood.client.create_raw(api::kind<api::Pod>(), kNamespace, std::move(body));
    if (!made) flood.fail(made.error());
  }
}

/// The finalizer, and an allocation for the pod.
Task<> write_claim(Flood& flood, const std::string& pod, const std::string& node) {
  const ObjectKey key{kNamespace, pod + "-gpu"};
  std::string protect = R"({"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"]}})";
  const auto kept =
      co_await flood.client.patch_raw(api::kind<api::ResourceClaim>(), key, std::move(protect), {});
  if (!kept) flood.fail(kept.error());
  std::string allocate =
      R"({"status":{"allocation":{"devices":{"results":[{"request":"gpus","driver":"gpu.tests.koord","pool":")" +
      node + R"(","device":"gpu-0"}]}},"reservedFor":[{"resource":"pods","name":")" + pod + R"(","uid":")" +
      pod + R"("}]}})";
  const auto told = co_await flood.client.patch_raw(api::kind<api::ResourceClaim>(), key, std::move(allocate),
                                                    {.subresource = "status"});
  if (!told) flood.fail(told.error());
}

Task<> write_pods(Flood& flood) {
  while (flood.next < static_cast<int>(flood.pods.size())) {
    const int index = flood.next++;
    const std::string& name = flood.pods[static_cast<std::size_t>(index)];
    const std::string node = "flood-node-" + std::to_string(index % flood.settings.nodes);
    const ObjectKey key{kNamespace, name};
    if (flood.settings.patch) {
      std::string change =
          R"({"metadata":{"annotations":{"scheduling.koordinator.sh/resource-status":"{\"cpuset\":\"0-3\"}"}}})";
      const auto patched = co_await flood.client.patch_raw(api::kind<api::Pod>(), key, std::move(change), {});
      if (!patched) flood.fail(patched.error());
    }
    if (flood.settings.claims) {
      Task<> writing = write_claim(flood, name, node);
      co_await std::move(writing);
    }
    const auto bound = co_await flood.client.bind(key, "", node);
    if (!bound) flood.fail(bound.error());
    if (!flood.settings.events) continue;
    std::string event =
        R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":")" + name +
        R"(.scheduled","namespace":"flood"},"eventTime":")" + flood.started +
        R"(","action":"Binding","reason":"Scheduled","type":"Normal","reportingController":"flood",)"
        R"("reportingInstance":"flood","note":"Successfully assigned flood/)" +
        name + " to " + node +
        R"(","regarding":{"apiVersion":"v1","kind":"Pod","namespace":"flood","name":")" + name + "\"}}";
    const auto told = co_await flood.client.create_raw(api::kind<api::Event>(), kNamespace, std::move(event));
    if (!told) flood.fail(told.error());
  }
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Runs one task per connection until all are through.
Task<Result<>> in_parallel(Flood& flood, Task<> (*work)(Flood&)) {
  TaskGroup group(co_await asio::this_coro::executor);
  flood.next = 0;
  for (int i = 0; i < flood.settings.connections; ++i) group.spawn("flood", work(flood));
  co_return co_await group.join();
}

Task<Result<>> run(Flood& flood) {
  if (flood.settings.setup) {
    api::Namespace ns;
    ns.metadata.name = kNamespace;
    const auto made = co_await flood.client.create(ns);
    if (!made && made.error().code() != Code::already_exists) co_return made.error();
    KOORD_CO_CHECK(co_await in_parallel(flood, make_nodes));
    KOORD_CO_CHECK(co_await in_parallel(flood, make_pods));
  }
  ListOptions waiting;
  waiting.ns = kNamespace;
  waiting.field_selector = "spec.nodeName=";
  KOORD_CO_TRY(list, co_await flood.client.list_pages<api::Pod>(waiting));
  for (const auto& pod : list.items) flood.pods.push_back(pod->metadata.name);
  if (flood.failed > 0) co_return Error(Code::io, "setting up: " + flood.first_error);

  const MonoTime begin = flood.clock.mono();
  const double cpu = cpu_seconds();
  KOORD_CO_CHECK(co_await in_parallel(flood, write_pods));
  const double seconds = std::chrono::duration<double>(flood.clock.mono() - begin).count();
  const double used = cpu_seconds() - cpu;
  const double pods = static_cast<double>(flood.pods.size());
  const double writes = pods * (1 + (flood.settings.events ? 1 : 0) + (flood.settings.patch ? 1 : 0) +
                                (flood.settings.claims ? 2 : 0));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "pods %.0f writes %.0f failed %d seconds %.2f pods/s %.0f writes/s %.0f cpu_us_per_write %.1f rss_mib "
      "%.1f\n",
      pods, writes, flood.failed, seconds, pods / seconds, writes / seconds, used / writes * 1e6,
      static_cast<double>(usage.ru_maxrss) / 1024);
  if (flood.failed > 0) co_return Error(Code::io, flood.first_error);
  co_return Result<>();
}

Result<Settings> parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    int* number = flag == "--pods"          ? &settings.pods
                  : flag == "--nodes"       ? &settings.nodes
                  : flag == "--connections" ? &settings.connections
                                            : nullptr;
    if (number != nullptr && i + 1 < argc)
      *number = std::atoi(argv[++i]);
    else if (flag == "--no-events")
      settings.events = false;
    else if (flag == "--patch")
      settings.patch = true;
    else if (flag == "--claims")
      settings.claims = true;
    else if (flag == "--no-setup")
      settings.setup = false;
    else
      return Error(Code::invalid, "unknown flag " + flag);
    if (number != nullptr && *number <= 0) return Error(Code::invalid, flag + ": expected a positive number");
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const auto fail = [](const Error& error) {
    std::fprintf(stderr, "flood: %s\n", error.message().c_str());
    return 1;
  };
  const auto settings = parse(argc, argv);
  if (!settings) return fail(settings.error());
  auto config = find_config("", "", [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
  if (!config) return fail(config.error());
  config->user_agent = "koord-flood";
  asio::io_context context{1};
  SystemClock clock(context.get_executor());
  net::PoolOptions options;
  options.max_connections = static_cast<unsigned>(settings->connections);
  auto transport = make_transport(context.get_executor(), clock, *config, options);
  if (!transport) return fail(transport.error());
  Client client(**transport, clock, {});
  Flood flood{client, clock, *settings, {}, {}, 0, 0, {}};
  char text[64];
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S.000000Z", &utc);
  flood.started = text;

  int status = 0;
  TaskGroup group(context.get_executor(),
                  [&](std::string_view, const Error& error) { status = fail(error); });
  group.spawn("flood", run(flood));
  // Idle connections have timers: the loop would not end by itself.
  while (group.size() > 0) context.run_one();
  return status;
}
