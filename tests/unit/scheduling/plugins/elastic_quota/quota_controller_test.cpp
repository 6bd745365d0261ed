// The controller of ElasticQuotas: an engine whose quotas it writes to an API server that the test plays.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "koord/api/schema/codec.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "quota_world.hpp"
#include "scheduling/plugins/elastic_quota/control/status.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;
using koord::test::json_response;
using koord::test::status_response;

constexpr std::string_view kWritten = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/";

/// What the server has of quotas goes to the engine and to the controller; what is written is kept, answered,
/// and done where it is a merge of what a test looks at.
struct ControlWorld : QuotaWorld {
  explicit ControlWorld(std::string_view args = "{}", const FeatureGates& gates = {})
      : QuotaWorld(args, false, gates), controller(plugin().make_controller(informers, api)) {
    server.answer = [this](const net::Request& request) { return answer(request); };
  }
  ~ControlWorld() {
    koord::test::run_task(loop, tasks.stop(loop.clock, 5s));
    koord::test::run_task(loop, informers.stop());
  }
  template <class As = ControllerPlugin>
  As& plugin() {
    for (const Profile::Named& named : engine.profiles()[0].plugins)
      if (auto* part = dynamic_cast<As*>(named.plugin.get()); part != nullptr && named.name == "ElasticQuota")
        return *part;
    throw std::runtime_error("no such part");
  }
  QuotaPtr has(QuotaPtr quota) {
    auto copy = std::make_shared<api::ElasticQuota>(*quota);
    copy->metadata.uid = "uid-of-" + copy->metadata.name;
    copy->metadata.resource_version = fmt::format("{}", ++version);
    const std::string key = fmt::format("{}/{}", copy->metadata.namespace_.view(), copy->metadata.name);
    objects[key] = copy;
    engine.put_object(objects[key]);
    return objects[key];
  }
  void begin() {
    plugin<SyncedPlugin>().all_synced();
    informers.start();
    loop.settle();
    tasks.spawn("controller", controller->run({api, loop.clock, log, [this] { return leads; }, metrics}));
    loop.settle();
    pass(0s);
  }
  /// On both threads.
  void pass(nanoseconds by) {
    clock.advance(by);
    run();
    loop.advance(by);
    loop.settle();
  }
  Result<net::Response> answer(const net::Request& request) {
    const auto has_text = [&](std::string_view text) {
      return request.target.find(text) != std::string::npos;
    };
    if (request.method != "GET") {
      writes.push_back(fmt::format("{} {} {}", request.method, request.target, request.body));
      if (!refused.empty() && has_text(refused)) return status_response(500, "InternalError", "a full disk");
      return json_response(200, request.method == "POST" ? request.body : "{}");
    }
    if (!served) return status_response(404, "NotFound");
    if (has_text("sendInitialEvents")) return status_response(422, "Invalid");
    if (has_text("watch=")) return json_response(200, "");
    std::string items;
    for (const auto& [key, each] : objects) items += (items.empty() ? "" : ",") + api::encode(*each);
    return json_response(200, fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})", items));
  }
  void tell(const std::string& key, const QuotaEdit& edit) {
    auto quota = std::make_shared<api::ElasticQuota>(*objects.at(key));
    edit(*quota);
    server.bodies.back()->feed(
        fmt::format("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", api::encode(*has(quota))));
    loop.settle();
  }
  std::size_t wrote(std::string_view text) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        writes, [&](const std::string& each) { return each.find(text) != std::string::npos; }));
  }
  /// The last write of the quota, without what stands before its body.
  std::string last(std::string_view quota) const {
    const std::string target = fmt::format("PATCH {}quotas/elasticquotas/{} ", kWritten, quota);
    for (auto each = writes.rbegin(); each != writes.rend(); ++each)
      if (each->starts_with(target)) return each->substr(target.size());
    return {};
  }

  koord::test::Loop loop;
  koord::test::FakeTransport server{loop.clock};
  kube::Client api{server, loop.clock, {.max_retries = 0}};
  kube::InformerSet informers{loop.executor(), loop.clock};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  metrics::Registry metrics;
  std::unique_ptr<PluginController> controller;
  bool leads = true, served = true;
  int version = 10;
  std::string refused;
  std::map<std::string, QuotaPtr> objects;
  std::vector<std::string> writes;
  std::optional<Error> failure;
  TaskGroup tasks{loop.executor(), [this](std::string_view, const Error& error) { failure = error; }};
};

QuotaEdit kept_to_itself() {
  return
      [](api::ElasticQuota& quota) { quota.metadata.labels[std::string(api::kQuotaLendsLabel)] = "false"; };
}

TEST_CASE("2294: a quota's status says what its pods use and ask for, and follows them") {
  ControlWorld w;
  w.has(make_quota("a", "40", "10"));
  w.has(make_quota("idle", "40", "0"));
  const auto p = w.pod("p", "a", "3");
  CHECK(w.outcomes() == "p bind");
  w.begin();
  CHECK(w.last("a") ==
        R"({"metadata":{"uid":"uid-of-a","annotations":{"quota.scheduling.koordinator.sh/child-request":)"
        R"("{\"cpu\":\"3\",\"memory\":\"1Mi\"}",)"
        R"("quota.scheduling.koordinator.sh/request":"{\"cpu\":\"3\",\"memory\":\"1Mi\"}",)"
        R"("quota.scheduling.koordinator.sh/runtime":"{\"cpu\":\"3\",\"memory\":\"1Mi\"}"}},)"
        R"("status":{"used":{"cpu":"3","memory":"1Mi"}}})");
  // What nobody asks for anything of says nothing.
  CHECK(w.wrote("/idle ") == 0);
  // The server has it now; the pod goes.
  w.tell("quotas/a", [](api::ElasticQuota& quota) {
    for (const std::string_view key : {api::kQuotaRequest, api::kQuotaChildRequest, api::kQuotaRuntime})
      quota.metadata.annotations[key] = R"({"cpu":"3","memory":"1Mi"})";
    quota.status.used = cpu_memory("3", "1Mi");
  });
  const std::size_t before = w.writes.size();
  w.pass(2s);
  CHECK(w.writes.size() == before);
  w.engine.remove_pod(*w.bound(p));
  w.pass(2s);
  CHECK(w.writes.size() == before + 1);
  CHECK(w.last("a").find(R"("status":{"used":{"cpu":"0","memory":"0"}})") != std::string::npos);
}

TEST_CASE("what others have asked for is shown where it is lent, once a second at most") {
  ControlWorld w;
  w.has(make_quota("a", "100", "40"));
  w.has(make_quota("b", "100", "60", kept_to_itself()));
  w.begin();
  CHECK(w.last("b").find(R"(runtime":"{\"cpu\":\"60\")") != std::string::npos);
  CHECK(w.last("b").find(R"(request":"{\"cpu\":\"60\")") != std::string::npos);
  CHECK(w.wrote("/a ") == 0);
  for (int i = 0; i < 20; ++i) {
    w.pod(fmt::format("p{}", i), "a", "1");
    w.pass(50ms);
  }
  CHECK(w.wrote("/elasticquotas/a ") <= 2);
  w.pass(2s);
  CHECK(w.wrote("/elasticquotas/a ") <= 3);
  CHECK(w.last("a").find(R"(runtime":"{\"cpu\":\"20\")") != std::string::npos);
}

TEST_CASE("what people write into a quota's annotations is put right, and so is what nobody can read") {
  ControlWorld w;
  w.has(make_quota("a", "40", "10"));
  w.pod("p", "a", "3");
  w.begin();
  w.pass(2s);
  for (const std::string_view by_hand : {R"({"cpu":"9"})", "nonsense", ""}) {
    w.pass(2s);
    const std::size_t before = w.writes.size();
    w.tell("quotas/a",
           [&](api::ElasticQuota& quota) { quota.metadata.annotations[api::kQuotaRequest] = by_hand; });
    CHECK(w.writes.size() == before + 1);
    CHECK(w.last("a").find(R"(sh/request":"{\"cpu\":\"3\",)") != std::string::npos);
  }
}

TEST_CASE("a write that fails is tried again, less and less often, and holds up no other quota") {
  ControlWorld w;
  w.refused = "/elasticquotas/a";
  w.has(make_quota("a", "40", "10"));
  w.has(make_quota("b", "40", "10"));
  w.pod("p", "a", "3");
  w.pod("q", "b", "3");
  w.begin();
  CHECK_FALSE(w.last("b").empty());
  for (int i = 0; i < 64; ++i) w.pass(1s);
  CHECK(w.wrote("/elasticquotas/a ") == 7);  // after 1, 2, 4, 8, 16 and 32 s
  CHECK(w.captured.contains("a full disk"));
  w.refused = "";
  for (int i = 0; i < 64; ++i) w.pass(1s);
  CHECK(w.wrote("/elasticquotas/a ") == 8);
  CHECK_FALSE(w.failure);
}

TEST_CASE("the built-in quotas are made where they are not there, as soon as the server knows the kind") {
  ControlWorld w;
  w.served = GENERATE(true, false);
  w.leads = GENERATE(true, false);
  auto there = std::make_shared<api::ElasticQuota>(*make_quota(std::string(api::kSystemQuota), "1", "0"));
  there->metadata.namespace_ = "koordinator-system";
  w.has(there);
  w.refused = "/namespaces/koordinator-system/elasticquotas";
  w.begin();
  CHECK(w.wrote("POST") == (w.served && w.leads ? 1 : 0));
  w.refused = "";
  w.served = true;
  for (int i = 0; i < 90; ++i) w.pass(1s);
  const auto made = [&](std::string_view name) {
    return w.wrote(fmt::format(R"("name":"{}","namespace":"koordinator-system")", name));
  };
  CHECK(made(api::kSystemQuota) == 0);
  CHECK((made(api::kDefaultQuota) == 1) == w.leads);
  CHECK((made(api::kRootQuota) >= 1) == w.leads);
  CHECK(w.wrote(R"("max":{"cpu":"1844674407370955161","memory":"1844674407370955161"})") ==
        (w.leads ? 1 : 0));
  CHECK_FALSE(w.failure);
}

TEST_CASE("2342: pods go by eviction, their budgets are kept, and only while this process leads") {
  const bool leads = GENERATE(true, false), monitors = GENERATE(true, false);
  ControlWorld w(monitors ? R"({"monitorAllQuotas":true,"delayEvictTime":"10s"})" : "{}");
  w.leads = leads;
  w.has(make_quota("a", "100", "40"));
  w.has(make_quota("b", "100", "60"));
  for (const char* name : {"p", "q"}) w.bound(w.pod(name, "a", "40"));
  w.begin();
  w.pass(20s);
  w.pod("owner", "b", "60");
  for (int i = 0; i < 10; ++i) w.pass(1s);
  CHECK(w.wrote("/eviction") == 0);
  w.refused = "/pods/q/eviction";
  for (int i = 0; i < 30; ++i) w.pass(1s);
  CHECK((w.wrote("POST /api/v1/namespaces/default/pods/q/eviction") > 1) == (leads && monitors));
  CHECK(w.wrote("/pods/p/eviction") == 0);
  CHECK(w.captured.contains("could not be evicted") == (leads && monitors));
  w.refused = "";
  for (int i = 0; i < 20; ++i) w.pass(1s);
  CHECK(w.captured.contains("a pod is evicted") == (leads && monitors));
  CHECK_FALSE(w.failure);
}

TEST_CASE("what is used is guaranteed, and says so: Koordinator's end-to-end specs") {
  constexpr FeatureGate kGates[] = {{.name = "ElasticQuotaGuaranteeUsage", .enabled = true, .help = ""}};
  ControlWorld w("{}", FeatureGates{kGates});
  w.has(make_quota("top", "100", "100"));
  w.has(make_quota("small", "100", "0", below("top")));
  w.has(make_quota("large", "100", "99", below("top")));
  w.pod("first", "small", "1");
  CHECK(w.outcomes() == "first bind");
  w.begin();
  w.pass(2s);
  const auto says = [&](std::string_view quota, std::string_view annotation, std::string_view cpu) {
    return w.last(quota).find(fmt::format(R"(sh/{}":"{{\"cpu\":\"{}\")", annotation, cpu)) !=
           std::string::npos;
  };
  for (const auto& [quota, cpu] : {std::pair("small", "1"), {"large", "99"}, {"top", "100"}}) {
    INFO(quota << ": " << w.last(quota));
    CHECK(says(quota, "guaranteed", cpu));
    CHECK(says(quota, "runtime", cpu));
  }
  CHECK(says("small", "allocated", "1"));
  CHECK(says("top", "allocated", "100"));
  CHECK_FALSE(says("large", "allocated", "99"));
  w.pod("second", "small", "1");
  w.pod("third", "large", "1");
  CHECK(w.outcomes() == "second waits, third bind");
}

TEST_CASE("gauges follow quotas") {
  ControlWorld w;
  w.has(make_quota("top", "100", "50", [](api::ElasticQuota& quota) {
    quota.metadata.labels[std::string(api::kQuotaIsParentLabel)] = "true";
  }));
  w.has(make_quota("a", "40", "10", below("top")));
  w.pod("p", "a", "1500m");
  w.run();
  w.begin();
  const auto shows = [&](std::string_view quota, std::string_view parent, bool is_parent,
                         std::string_view field, int value) {
    return w.metrics.exposition().find(fmt::format(
               "scheduler_elastic_quota_status{{name=\"{}\",resource=\"cpu\",tree=\"\",is_parent=\"{}\","
               "parent=\"{}\",field=\"{}\"}} {}\n",
               quota, is_parent, parent, field, value)) != std::string::npos;
  };
  CHECK(shows("a", "top", false, "used", 1500));
  CHECK(shows("a", "top", false, "runtime", 1500));
  CHECK(shows("a", "top", false, "min", 10000));
  CHECK(shows("top", api::kRootQuota, true, "used", 1500));
  CHECK(shows("top", api::kRootQuota, true, "max", 100000));
  CHECK(shows(api::kRootQuota, "", true, "used", 1500));
  w.engine.remove_object(w.objects.at("quotas/a"));
  w.pass(2s);
  CHECK(w.metrics.exposition().find("name=\"a\"") == std::string::npos);
  CHECK(shows("top", api::kRootQuota, true, "used", 0));
}

}  // namespace
}  // namespace koord::scheduling::test
