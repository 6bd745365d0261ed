// The codec on whole objects: round trips, tolerance, errors with paths, strict decoding.
#include "koord/api/schema/codec.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "koord/api/types/core_v1/binding.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/events_v1/event.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/value.hpp"

using namespace koord;
using namespace koord::api;

namespace {

std::string golden(const std::string& name) {
  std::ifstream in(std::string(KOORD_GOLDEN) + "/api/" + name);
  REQUIRE(in.good());
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

template <class T>
std::string message(const Result<T>& result) {
  return result ? "no error" : result.error().message();
}

}  // namespace

TEST_CASE("a pod survives a round trip") {
  const std::string text = golden("pod.json");
  const auto pod = decode<Pod>(text);
  REQUIRE(message(pod) == "no error");
  CHECK(pod->metadata.name == "web-7d4b9c6f5-x2x9z");
  CHECK(pod->metadata.namespace_ == "shop");
  CHECK(*pod->metadata.labels.find("app") == "web");
  CHECK(controller_of(pod->metadata)->name == "web-7d4b9c6f5");
  CHECK(pod->spec.priority == 9500);
  CHECK(*pod->spec.containers[0].resources.requests.find("cpu") == Quantity::must("1.5"));
  CHECK(pod->spec.affinity->node_affinity->required->node_selector_terms.size() == 1);
  CHECK(pod->spec.affinity->pod_anti_affinity->preferred[0].pod_affinity_term.namespace_selector.has_value());
  CHECK_FALSE(pod->spec.affinity->pod_affinity->required[0].namespace_selector.has_value());
  CHECK(pod->spec.volumes[1].ephemeral->volume_claim_template.text ==
        R"({"spec":{"resources":{"requests":{"storage":"1Gi"}}}})");
  CHECK(pod->status.container_statuses[0].last_state.terminated->exit_code == 137);

  const std::string again = encode(*pod);
  CHECK(decode<Pod>(again).value() == *pod);
  auto expected = json::parse(text);
  json::remove_path(*expected, "/status/conditions/0/lastProbeTime");     // null is absent
  json::remove_path(*expected, "/spec/ephemeralContainers/0/resources");  // and so is what is empty
  CHECK(*json::parse(again) == *expected);
}

TEST_CASE("kinds are written, empty fields are not") {
  CHECK(encode(Namespace()) == R"({"apiVersion":"v1","kind":"Namespace"})");
  Binding binding;
  binding.metadata.name = "p";
  binding.target.kind = "Node";
  binding.target.name = "n";
  CHECK(
      encode(binding) ==
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}})");
  Lease lease;
  lease.spec.holder_identity = "me";
  lease.spec.lease_transitions = 0;
  lease.spec.renew_time = MicroTime::parse("2026-01-02T03:04:05.000006Z").value();
  CHECK(
      encode(lease) ==
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":"me","renewTime":"2026-01-02T03:04:05.000006Z","leaseTransitions":0}})");
  CHECK(encode(Event()) == R"({"apiVersion":"events.k8s.io/v1","kind":"Event","eventTime":null})");
  SubjectAccessReview review;
  review.spec.extra["scopes"].push_back("all");
  CHECK(encode(review).find(R"("extra":{"scopes":["all"]})") != std::string::npos);
  NodeSlo slo;
  slo.spec.system_strategy.emplace();
  slo.spec.resource_qos_strategy.ensure().ls_class.ensure().cpu_qos.ensure().qos.group_identity = 2;
  CHECK(
      encode(slo) ==
      R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","spec":{"resourceQOSStrategy":{"lsClass":{"cpuQOS":{"groupIdentity":2}}},"systemStrategy":{"totalNetworkBandwidth":"0"}}})");
}

TEST_CASE("a number or time that may be absent is not its zero") {
  struct Row {
    std::string_view metadata, status;
    Maybe<int64_t> grace;
    Maybe<Time> deleted;
    bool running;
  };
  const Row rows[] = {
      {"{}", "{}", {}, {}, false},
      {R"({"deletionGracePeriodSeconds":0})", "{}", 0, {}, false},
      {R"({"deletionGracePeriodSeconds":null,"deletionTimestamp":"1970-01-01T00:00:00Z"})",
       "{}",
       {},
       Time(),
       false},
      {R"({"deletionGracePeriodSeconds":-1,"deletionTimestamp":"0000-01-01T00:00:00Z"})", "{}", -1,
       Time::parse("0000-01-01T00:00:00Z").value(), false},
      {"{}", R"({"containerStatuses":[{"name":"c","state":{"running":{}}}]})", {}, {}, true},
      {"{}", R"({"containerStatuses":[{"name":"c","state":{"running":{"startedAt":null}}}]})", {}, {}, true},
      {"{}", R"({"containerStatuses":[{"name":"c","state":{"waiting":{}}}]})", {}, {}, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.metadata, row.status);
    const auto pod = decode<Pod>(R"({"metadata":)" + std::string(row.metadata) + R"(,"status":)" +
                                 std::string(row.status) + "}");
    REQUIRE(message(pod) == "no error");
    CHECK(pod->metadata.deletion_grace_period_seconds == row.grace);
    CHECK(pod->metadata.deletion_timestamp == row.deleted);
    CHECK(pod->metadata.deletion_timestamp.has_value() == row.deleted.has_value());
    const auto& statuses = pod->status.container_statuses;
    CHECK((!statuses.empty() && statuses[0].state.running) == row.running);
    CHECK(decode<Pod>(encode(*pod)).value() == *pod);
  }
}

TEST_CASE("decoding is tolerant") {
  const auto pod =
      decode<Pod>(R"({"kind":"Pod","frob":[{"a":[1,{}]}],"metadata":{"managedFields":[{"f":{}}],"name":"x",
      "labels":null},"spec":{"priority":null,"affinity":null,"containers":[null,{"name":"c","env":[{"name":"A"}]}]}})");
  REQUIRE(message(pod) == "no error");
  CHECK(pod->metadata.name == "x");
  CHECK_FALSE(pod->spec.priority);
  CHECK_FALSE(pod->spec.affinity);
  REQUIRE(pod->spec.containers.size() == 2);
  CHECK(pod->spec.containers[1].name == "c");
  CHECK(decode<Node>(R"({"status":{"capacity":{"cpu":4,"memory":"1Gi","x":0.5}}})")->status.capacity.size() ==
        3);
}

TEST_CASE("values of a wrong type are named by their path") {
  struct Case {
    const char *text, *message;
  };
  const Case cases[] = {
      {R"({"metadata":{"name":1}})", ".metadata.name: expected a string, got a number"},
      {R"({"metadata":{"labels":{"a":{}}}})", ".metadata.labels[a]: expected a string, got an object"},
      {R"({"metadata":{"labels":["a"]}})", ".metadata.labels: expected an object, got a list"},
      {R"({"metadata":[]})", ".metadata: expected an object, got a list"},
      {R"({"spec":{"containers":{}}})", ".spec.containers: expected a list, got an object"},
      {R"({"spec":{"containers":[{},{"ports":[{},{"hostPort":"x"}]}]}})",
       ".spec.containers[1].ports[1].hostPort: expected a number, got a string"},
      {R"({"spec":{"priority":4294967296}})", ".spec.priority: 4294967296 does not fit 32 bits"},
      {R"({"spec":{"priority":1.5}})", ".spec.priority: 1.5 is no integer"},
      {R"({"spec":{"hostNetwork":"true"}})", ".spec.hostNetwork: expected true or false, got a string"},
      {R"({"spec":{"overhead":{"cpu":true}}})",
       ".spec.overhead[cpu]: expected a quantity, got true or false"},
      {R"({"kind":"Node"})", ".kind: expected \"Pod\", got \"Node\""},
      {R"([])", ".: expected an object, got a list"},
      {R"("x")", ".: expected an object, got a string"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK(message(decode<Pod>(c.text)) == c.message);
  }
  CHECK(message(decode<Pod>(R"({"spec":{"overhead":{"cpu":"1x"}}})")).starts_with(".spec.overhead[cpu]: "));
  CHECK(message(decode<Pod>(R"({"metadata":{"creationTimestamp":"now"}})"))
            .starts_with(".metadata.creationTimestamp: "));
}

TEST_CASE("text that is no JSON is an error") {
  CHECK(message(decode<Pod>("{\"x\":" + std::string(400'000, '['))) ==
        "JSON: line 1, column 1005 (byte 1004): nested deeper than 1000 levels");
  std::string deep = R"({"metadata":)";
  for (int i = 0; i < 400'000; ++i) deep += R"({"x":)";
  CHECK(message(decode<Pod>(deep)).find("nested deeper") != std::string::npos);
  CHECK(decode<Pod>("{\"metadata\":{\"name\":\"\xc3").has_error());
  CHECK(decode<Pod>("{\"metadata\":{\"name\":\"\xc3\"}}").has_error());
  CHECK(decode<Pod>("{\"frob\":\"\xff\"}").has_error());
  CHECK(decode<Pod>("").has_error());
  CHECK(decode<Pod>(R"({"metadata":{)").has_error());
  CHECK(decode<Pod>("{} {}").has_error());
}

namespace {
constexpr std::string_view kNames[] = {"a", "b"};
constexpr std::string_view kModes[] = {"None", "Soft", "Hard"};

struct Plugin {
  std::string name;
  int32_t weight = 0;
  Symbol mode;
  int scratch = 0;  // the program's own
  KOORD_STRUCT(Plugin);
};
KOORD_SCHEMA(Plugin, ROW(name).required().one_of(kNames), ROW(weight).range(1, 100).default_json("7"),
             ROW(mode).one_of(kModes).default_json("\"Soft\""), NO_ROW(scratch));

struct Profile {
  std::string name;
  std::vector<Plugin> plugins;
  StringMap options;
  KOORD_STRUCT(Profile);
};
KOORD_SCHEMA(Profile, ROW(name), ROW(plugins), ROW(options));

struct Config {
  std::vector<Profile> profiles;
  Duration period;
  double ratio = 0;
  std::optional<bool> debug;
  KOORD_STRUCT(Config);
};
KOORD_OBJECT(Config, Kind("test.koord/v1", "Config"), ROW(profiles).default_json(R"([{"name":"default"}])"),
             ROW(period).default_json("\"1m\""), ROW(ratio), ROW(debug).default_json("true"));
}  // namespace

TEST_CASE("strict decoding fills in defaults") {
  const auto config = decode_strict<Config>(
      R"({"apiVersion":"test.koord/v1","kind":"Config","profiles":[{"plugins":[{"name":"a"},{"name":"b","mode":"Hard","weight":100}]}]})");
  REQUIRE(message(config) == "no error");
  CHECK(config->period.value == std::chrono::minutes(1));
  CHECK(config->debug == true);
  CHECK(config->profiles[0].plugins[0].weight == 7);
  CHECK(config->profiles[0].plugins[0].mode.view() == "Soft");
  CHECK(config->profiles[0].plugins[1].mode.view() == "Hard");
  CHECK(decode_strict<Config>("{}")->profiles[0].name == "default");
  CHECK(encode(config->profiles[0].plugins[1]) == R"({"name":"b","weight":100,"mode":"Hard"})");
}

TEST_CASE("A map of very many keys has to be in order, more or less") {
  const auto pod = [](int keys, auto key_of) {
    std::string text = R"({"metadata":{"labels":{)";
    for (int i = 0; i < keys; ++i) text += fmt::format(R"({}"k{:06}":"v")", i > 0 ? "," : "", key_of(i));
    return text + "}}}";
  };
  const auto decoded = [](const std::string& text) { return decode<Pod>(text); };
  const auto as_printed = [](int i) { return i; };
  const auto backwards = [](int i) { return 999'999 - i; };
  const auto few_before_many = [](int i) { return i < 20'000 ? 500'000 + i : i; };
  CHECK(decoded(pod(20'000, as_printed))->metadata.labels.size() == 20'000);
  CHECK(decoded(pod(2'500, backwards))->metadata.labels.at_index(0).key.view() == "k997500");
  CHECK(decoded(pod(20'100, few_before_many))->metadata.labels.size() == 20'100);
  for (const std::string& text : {pod(20'000, backwards), pod(30'000, few_before_many)}) {
    const auto refused = decoded(text);
    REQUIRE(refused.has_error());
    CHECK(refused.error().code() == Code::too_large);
    CHECK_THAT(refused.error().message(), Catch::StartsWith(".metadata.labels[k") &&
                                              Catch::EndsWith("]: too many keys that are not in order"));
  }
}

TEST_CASE("strict decoding names what is wrong") {
  struct Case {
    const char *text, *message;
  };
  const Case cases[] = {
      {R"({"profiles":[{"plugin":[]}]})", ".profiles[0].plugin: unknown field"},
      {R"({"profiles":[{"plugins":[{"name":"a","Weight":1}]}]})",
       ".profiles[0].plugins[0].Weight: unknown field"},
      {R"({"ratio":1,"ratio":2})", ".ratio: duplicate field"},
      {R"({"profiles":[{"options":{"x":"1","x":"2"}}]})", ".profiles[0].options[x]: duplicate key"},
      {R"({"profiles":[{"plugins":[{"weight":1}]}]})",
       ".profiles[0].plugins[0].name: required field is missing"},
      {R"({"profiles":[{"plugins":[{"name":"c"}]}]})", ".profiles[0].plugins[0].name: \"c\" is none of a, b"},
      {R"({"profiles":[{"plugins":[{"name":"a","weight":0}]}]})",
       ".profiles[0].plugins[0].weight: 0 is less than 1"},
      {R"({"profiles":[{"plugins":[{"name":"a","weight":101}]}]})",
       ".profiles[0].plugins[0].weight: 101 is more than 100"},
      {R"({"profiles":[{"plugins":[{"name":"a","mode":"hard"}]}]})",
       ".profiles[0].plugins[0].mode: \"hard\" is none of None, Soft, Hard"},
      {R"({"profiles":{"a":1}})", ".profiles: expected a list, got an object"},
      {R"({"period":60})", ".period: expected a duration such as \"5m\", got a number"},
      {R"({"kind":"Other"})", ".kind: expected \"Config\", got \"Other\""},
      {R"({"apiVersion":"v2"})", ".apiVersion: expected \"test.koord/v1\", got \"v2\""},
      {R"({"metadata":{}})", ".metadata: unknown field"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const auto config = decode_strict<Config>(c.text);
    CHECK(message(config) == c.message);
    if (config.has_error()) CHECK(config.error().code() == Code::invalid);
  }
}

TEST_CASE("defaults of an object that was made by hand") {
  NodeSlo slo;
  slo.spec.resource_qos_strategy.ensure().be_class.ensure().network_qos.emplace();
  REQUIRE(apply_defaults(&slo, schema<NodeSlo>()).has_value());
  const NetworkQosConfig& network = *slo.spec.resource_qos_strategy->be_class->network_qos;
  CHECK(network.ingress_limit == IntOrString(100));
  CHECK(network.egress_request == IntOrString(0));
}

TEST_CASE("a schema finds its fields") {
  const Schema& pod = schema<PodSpec>();
  for (const Field& field : pod.fields()) CHECK(pod.find(field.name) == &field);
  CHECK(pod.find("nodename") == nullptr);
  CHECK(pod.find("") == nullptr);
  CHECK(schema<CpuQosConfig>().find("groupIdentity") != nullptr);  // inlined
  CHECK(kind<NodeSlo>().api_version() == "slo.koordinator.sh/v1alpha1");
  CHECK(kind<Pod>().api_version() == "v1");
}
