// PodEvictions: what is sent for each policy, and what of an answer means that the pod is gone.
#include "evictions/pod_evictions.hpp"

#include <catch2/catch.hpp>

#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "unit/descheduler/write_watch.hpp"

namespace koord::descheduler::test {
namespace {

struct Rig {
  Rig() {
    auto made = std::make_shared<api::Pod>();
    made->metadata.namespace_ = "ns";
    made->metadata.name = "p";
    made->metadata.uid = "u";
    made->spec.node_name = "n";
    pod = made;
    watch.watch(client);
    watch.guard(server);
    server.answer = [this](const net::Request&) -> Result<net::Response> {
      net::Response response;
      response.status = status;
      response.body = status < 300 ? "{}"
                                   : R"({"kind":"Status","code":)" + std::to_string(status) +
                                         R"(,"reason":")" + reason + R"(","message":")" + message + R"("})";
      return response;
    };
  }
  /// "ok", or the error.
  std::string ask(EvictionPolicy policy, EvictOptions options = {.plugin = "LowNodeLoad", .reason = "hot"}) {
    const auto done = koord::test::run_task(loop, evictions.ask(pod, policy, std::move(options)));
    return done ? "ok" : done.error().message();
  }
  std::string sent() const {
    if (server.requests.empty()) return "nothing";
    const net::Request& last = server.requests.back();
    return last.method + " " + last.target + " " + last.body;
  }
  double counted(std::string_view result) {
    const std::string line = "descheduler_pods_evicted{result=\"" + std::string(result) +
                             "\",strategy=\"LowNodeLoad\",namespace=\"ns\",node=\"n\"} ";
    const std::string all = registry.exposition();
    const auto at = all.find(line);
    return at == std::string::npos ? 0 : std::stod(all.substr(at + line.size()));
  }

  koord::test::Loop loop;
  koord::test::FakeTransport server{loop.clock};
  kube::Client client{server, loop.clock, {.max_retries = 5}};
  test::WriteWatch watch;
  CapturedLog captured;
  Logger log{captured, loop.clock};
  metrics::Registry registry;
  bool leads = true;
  unsigned status = 201;
  std::string reason, message;
  PodPtr pod;
  PodEvictions evictions{{.clock = loop.clock,
                          .log = log,
                          .client = client,
                          .may_write = [this] { return leads; },
                          .metrics = &registry}};
};

TEST_CASE("each policy has a name and a request of its own, for that very pod") {
  for (const std::string_view name : {"Eviction", "Delete", "SoftEviction"})
    CHECK(name_of(eviction_policy(name).value()) == name);
  CHECK_FALSE(eviction_policy("eviction"));
  CHECK_FALSE(eviction_policy(""));
  Rig rig;
  CHECK(rig.ask(EvictionPolicy::eviction) == "ok");
  CHECK(
      rig.sent() ==
      R"(POST /api/v1/namespaces/ns/pods/p/eviction {"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"ns"},"deleteOptions":{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}}})");
  CHECK(rig.ask(EvictionPolicy::deletion) == "ok");
  CHECK(
      rig.sent() ==
      R"(DELETE /api/v1/namespaces/ns/pods/p {"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}})");
  CHECK(rig.ask(EvictionPolicy::soft_eviction) == "ok");
  const std::string patch = rig.sent();
  CHECK(patch.starts_with(
      "PATCH /api/v1/namespaces/ns/pods/p "
      R"({"metadata":{"uid":"u","annotations":{"scheduling.koordinator.sh/soft-eviction":"{\"timestamp\":\")"));
  CHECK(patch.ends_with(R"(Z\",\"initiator\":\"LowNodeLoad\",\"reason\":\"hot\"}"}}})"));
  CHECK(rig.counted("success") == 3);
}

TEST_CASE("what the job says of the deletion is passed on, and a contradiction is refused") {
  Rig rig;
  EvictOptions options{.plugin = "LowNodeLoad", .reason = "hot"};
  options.delete_options.emplace();
  options.delete_options->grace_period_seconds = 7;
  options.delete_options->propagation_policy = "Foreground";
  options.delete_options->dry_run = {Symbol("All")};
  options.delete_options->preconditions.emplace();
  options.delete_options->preconditions->resource_version = "12";
  CHECK(rig.ask(EvictionPolicy::deletion, options) == "ok");
  CHECK(rig.sent().ends_with(
      R"("preconditions":{"uid":"u","resourceVersion":"12"},"gracePeriodSeconds":7,"propagationPolicy":"Foreground","dryRun":["All"]})"));
  options.delete_options->preconditions->uid = "other";
  CHECK(rig.ask(EvictionPolicy::eviction, options) ==
        "deleteOptions.preconditions.uid: \"other\", but the pod's UID is u");
  CHECK(rig.server.requests.size() == 1);
}

TEST_CASE("a pod that is gone is evicted, one that a budget protects is not") {
  struct Row {
    unsigned status;
    std::string reason, message;
    bool gone;
  };
  for (const Row& row :
       {Row{404, "NotFound", "pods \\\"p\\\" not found", true},
        Row{409, "Conflict",
            "Operation cannot be fulfilled: the UID in the precondition (u) does not match the UID in record "
            "(v).",
            true},
        Row{409, "Conflict", "Precondition failed: UID in precondition: u, UID in object meta: v", true},
        Row{409, "Conflict",
            "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: 2",
            false},
        Row{429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
            false},
        Row{403, "Forbidden", "no", false}}) {
    CAPTURE(row.message);
    Rig rig;
    rig.status = row.status;
    rig.reason = row.reason;
    rig.message = row.message;
    const std::string said = rig.ask(EvictionPolicy::eviction);
    CHECK((said == "ok") == row.gone);
    CHECK(rig.server.requests.size() == 1);
    CHECK(rig.counted(row.gone ? "success" : "error") == 1);
    if (!row.gone) CHECK(said.find(row.message) != std::string::npos);
  }
}

TEST_CASE("who does not lead asks for nothing") {
  Rig rig;
  rig.leads = false;
  for (const EvictionPolicy policy :
       {EvictionPolicy::eviction, EvictionPolicy::deletion, EvictionPolicy::soft_eviction})
    CHECK(rig.ask(policy) != "ok");
  CHECK(rig.server.requests.empty());
}

TEST_CASE("a soft eviction is asked for once for a reason") {
  Rig rig;
  CHECK(rig.ask(EvictionPolicy::soft_eviction) == "ok");
  auto asked = std::make_shared<api::Pod>(*rig.pod);
  asked->metadata.annotations[api::kSoftEvictionAnnotation] =
      Symbol(R"({"timestamp":"2020-01-01T00:00:00Z","initiator":"LowNodeLoad","reason":"hot"})");
  rig.pod = asked;
  CHECK(rig.ask(EvictionPolicy::soft_eviction) == "ok");
  CHECK(rig.server.requests.size() == 1);
  CHECK(rig.ask(EvictionPolicy::soft_eviction, {.plugin = "LowNodeLoad", .reason = "colder"}) == "ok");
  CHECK(rig.server.requests.size() == 2);
}

}  // namespace
}  // namespace koord::descheduler::test
