// Patches made by diff, and that applying them to the raw object gives the target.
#include <catch2/catch.hpp>

#include "koord/api/kinds/patch.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/apps_v1/deployment.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

using namespace koord;
using namespace koord::api;

namespace {

/// The patch between two objects given as JSON; checks that it does what it should on the raw object.
template <class T>
std::string patch(const std::string& before, const std::string& after) {
  const auto a = decode<T>(before), b = decode<T>(after);
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  const auto made = diff(*a, *b);
  if (!made) {
    CHECK(*a == *b);
    return "nothing";
  }
  const Kind& k = kind<T>();
  CHECK(made->type == (k.custom ? PatchType::merge : PatchType::strategic));
  auto raw = json::parse(before);
  INFO(made->body);
  REQUIRE(apply_patch(*raw, made->type, *json::parse(made->body), k.group, k.kind, raw->arena()).has_value());
  auto patched = decode<T>(json::to_text(*raw));
  REQUIRE(patched.has_value());
  patched->metadata.resource_version = b->metadata.resource_version;
  CHECK(*patched == *b);
  return made->body;
}

}  // namespace

TEST_CASE("strategic patches hold what changed") {
  struct Case {
    const char *name, *before, *after, *patch;
  };
  const Case cases[] = {
      {"nothing", R"({"metadata":{"name":"a","resourceVersion":"1"}})",
       R"({"metadata":{"name":"a","resourceVersion":"2"}})", "nothing"},
      {"numbers by value", R"({"spec":{"overhead":{"cpu":"1"}}})", R"({"spec":{"overhead":{"cpu":"1000m"}}})",
       "nothing"},
      {"labels", R"({"metadata":{"labels":{"a":"1","b":"2","z":"9"}}})",
       R"({"metadata":{"labels":{"a":"1","b":"3","c":"4"}}})",
       R"({"metadata":{"labels":{"b":"3","c":"4","z":null}}})"},
      {"all labels", R"({"metadata":{"labels":{"a":"1"}}})", "{}", R"({"metadata":{"labels":null}})"},
      {"scalars", R"({"spec":{"priority":1,"hostNetwork":true}})",
       R"({"spec":{"priority":0,"nodeName":"n"}})",
       R"({"spec":{"nodeName":"n","priority":0,"hostNetwork":null}})"},
      {"a new condition", R"({"status":{"phase":"Pending","conditions":[{"type":"A","status":"True"}]}})",
       R"({"status":{"phase":"Pending","conditions":[{"type":"A","status":"True"},{"type":"B","status":"False","reason":"R"}]}})",
       R"({"status":{"$setElementOrder/conditions":[{"type":"A"},{"type":"B"}],"conditions":[{"type":"B","status":"False","reason":"R"}]}})"},
      {"a changed condition",
       R"({"status":{"conditions":[{"type":"A","status":"True","x":1},{"type":"B","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"B","status":"False"}]}})",
       R"({"status":{"conditions":[{"type":"B","status":"False"}]}})"},
      {"a removed condition",
       R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"B","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"B","status":"True"}]}})",
       R"({"status":{"conditions":[{"$patch":"delete","type":"A"}]}})"},
      {"reordered",
       R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"B","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"B","status":"True"},{"type":"A","status":"True"}]}})",
       R"({"status":{"$setElementOrder/conditions":[{"type":"B"},{"type":"A"}]}})"},
      {"finalizers", R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["b","c"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"$setElementOrder/finalizers":["b","c"],"finalizers":["c"]}})"},
      {"resources in a container",
       R"({"spec":{"containers":[{"name":"a","image":"i","resources":{"limits":{"cpu":"1"}}},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"i","resources":{"limits":{"cpu":"2"},"requests":{"x":"1"}}},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"2"},"requests":{"x":"1"}}}]}})"},
      {"an optional part", R"({"spec":{"affinity":{"podAffinity":{}}}})",
       R"({"spec":{"os":{"name":"linux"}}})", R"({"spec":{"affinity":null,"os":{"name":"linux"}}})"},
      {"an atomic list", R"({"metadata":{"resourceVersion":"7"},"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"metadata":{"resourceVersion":"7"},"spec":{"tolerations":[{"key":"a"},{"key":"b"}]}})",
       R"({"metadata":{"resourceVersion":"7"},"spec":{"tolerations":[{"key":"a"},{"key":"b"}]}})"},
      {"an atomic list and metadata",
       R"({"metadata":{"resourceVersion":"7","labels":{"a":"1"}},"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"metadata":{"resourceVersion":"7","labels":{"a":"2"}},"spec":{"tolerations":[{"key":"b"}]}})",
       R"({"metadata":{"resourceVersion":"7","labels":{"a":"2"}},"spec":{"tolerations":[{"key":"b"}]}})"},
      {"an atomic list that is empty now",
       R"({"metadata":{"resourceVersion":"7"},"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"metadata":{"resourceVersion":"7"}})",
       R"({"metadata":{"resourceVersion":"7"},"spec":{"tolerations":null}})"},
      {"keys that repeat",
       R"({"metadata":{"resourceVersion":"7"},"spec":{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"TCP"},{"containerPort":53,"protocol":"UDP"}]}]}})",
       R"({"metadata":{"resourceVersion":"7"},"spec":{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"UDP"}]}]}})",
       R"({"metadata":{"resourceVersion":"7"},"spec":{"containers":[{"name":"a","ports":[{"$patch":"replace"},{"containerPort":53,"protocol":"UDP"}]}]}})"},
      {"the server's fields do not count",
       R"({"metadata":{"uid":"1","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"}})",
       R"({"metadata":{}})", "nothing but immutable"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    if (std::string_view(c.patch) == "nothing but immutable") {
      CHECK_FALSE(diff(*decode<Pod>(c.before), *decode<Pod>(c.after)));
    } else if (std::string_view(c.patch) == "nothing") {
      CHECK_FALSE(diff(*decode<Pod>(c.before), *decode<Pod>(c.after)));
    } else {
      CHECK(patch<Pod>(c.before, c.after) == c.patch);
    }
  }
}

TEST_CASE("what koord does not describe survives a patch") {
  const char* text =
      R"({"metadata":{"name":"x","managedFields":[1]},"spec":{"dnsPolicy":"Default","containers":[
    {"name":"a","env":[{"name":"E","value":"1"}],"livenessProbe":{"x":1}}]},"status":{"frob":{"a":1}}})";
  const auto before = decode<Pod>(text);
  Pod after = *before;
  after.spec.node_name = "n1";
  after.spec.containers[0].image = "new";
  after.metadata.annotations["k"] = "v";
  after.status.phase = "Running";
  const auto made = diff(*before, after);
  REQUIRE(made);
  auto raw = json::parse(text);
  REQUIRE(apply_patch(*raw, made->type, *json::parse(made->body), "", "Pod", raw->arena()).has_value());
  CHECK(json::to_text(*json::find(*raw, "metadata", "managedFields")) == "[1]");
  CHECK(json::text_at(*raw, "spec", "dnsPolicy") == "Default");
  CHECK(json::to_text(*json::find_path(*raw, "/spec/containers/0/env")) == R"([{"name":"E","value":"1"}])");
  CHECK(json::to_text(*json::find_path(*raw, "/spec/containers/0/livenessProbe")) == R"({"x":1})");
  CHECK(json::find_path(*raw, "/spec/containers/0/image")->text() == "new");
  CHECK(json::to_text(*json::find(*raw, "status", "frob")) == R"({"a":1})");
  CHECK(*decode<Pod>(json::to_text(*raw)) == after);
}

TEST_CASE("merge patches of custom resources") {
  CHECK(
      patch<NodeSlo>(
          R"({"metadata":{"resourceVersion":"3"},"spec":{"extensions":{"a":{"b":1,"c":2}}}})",
          R"({"metadata":{"resourceVersion":"3"},"spec":{"extensions":{"a":{"b":1}},"cpuBurstStrategy":{"policy":"auto"}}})") ==
      R"({"metadata":{"resourceVersion":"3"},"spec":{"cpuBurstStrategy":{"policy":"auto"},"extensions":{"a":{"c":null}}}})");
  CHECK(patch<NodeSlo>(
            R"({"spec":{"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":65}}})",
            R"({"spec":{"resourceUsedThresholdWithBE":{"enable":false}}})") ==
        R"({"spec":{"resourceUsedThresholdWithBE":{"enable":false,"cpuSuppressThresholdPercent":null}}})");
  CHECK(
      patch<NodeMetric>(
          R"({"metadata":{"resourceVersion":"5"},"status":{"podsMetric":[{"name":"a","namespace":"n"}]}})",
          R"({"metadata":{"resourceVersion":"5"},"status":{"podsMetric":[{"name":"b","namespace":"n"}],"nodeMetric":{"nodeUsage":{"resources":{"cpu":"1"}}}}})") ==
      R"({"metadata":{"resourceVersion":"5"},"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"1"}},"systemUsage":{}},"podsMetric":[{"name":"b","namespace":"n","podUsage":{}}]}})");
  CHECK(patch<NodeMetric>(
            R"({"metadata":{"resourceVersion":"5"},"status":{"podsMetric":[{"name":"a","namespace":"n"}]}})",
            R"({"metadata":{"resourceVersion":"5"}})") ==
        R"({"metadata":{"resourceVersion":"5"},"status":{"podsMetric":null}})");
  CHECK(patch<NodeMetric>(R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"finalizers":["x"]}})") ==
        R"({"metadata":{"labels":null,"finalizers":["x"]}})");
}

TEST_CASE("embedded objects of Kubernetes' kinds are replaced whole") {
  CHECK(
      patch<Deployment>(
          R"({"metadata":{"resourceVersion":"1"},"spec":{"template":{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}}})",
          R"({"metadata":{"resourceVersion":"1"},"spec":{"template":{"spec":{"containers":[{"name":"b"}]}}}})") ==
      R"({"metadata":{"resourceVersion":"1"},"spec":{"template":{"$patch":"replace","spec":{"containers":[{"name":"b"}]}}}})");
}

TEST_CASE("a patch is for the object of one uid, as it was read") {
  struct Row {
    std::string_view body;
    Precondition wanted;
    std::string_view expected;
  };
  const Row rows[] = {
      {R"({"spec":{"a":1}})", {}, R"({"spec":{"a":1}})"},
      {R"({"spec":{"a":1}})", {.uid = "u"}, R"({"metadata":{"uid":"u"},"spec":{"a":1}})"},
      {R"({"spec":null,"metadata":{"labels":{"b":"1","a":null}}})",
       {.uid = "u", .resource_version = "7"},
       R"({"metadata":{"uid":"u","resourceVersion":"7","labels":{"b":"1","a":null}},"spec":null})"},
      // What it said before goes, what is not asked for stays.
      {R"({"metadata":{"resourceVersion":"6","uid":"v","finalizers":null}})",
       {.resource_version = "7"},
       R"({"metadata":{"resourceVersion":"7","uid":"v","finalizers":null}})"},
      {R"({})", {.uid = "u\"\\"}, R"({"metadata":{"uid":"u\"\\"}})"},
      {R"({"spec":{"n":[1,-9223372036854775808,18446744073709551615,0.1]}})",
       {},
       R"({"spec":{"n":[1,-9223372036854775808,18446744073709551615,0.1]}})"},
  };
  for (const Row& row : rows)
    for (const PatchType type : {PatchType::merge, PatchType::strategic}) {
      CAPTURE(row.body);
      const Patch guarded = Patch{type, std::string(row.body)}.with_precondition(row.wanted);
      CHECK(guarded.type == type);
      CHECK(guarded.body == row.expected);
      CHECK(make_patch(type, *json::parse(row.body), row.wanted).body == row.expected);
    }
  CHECK_THROWS_AS((Patch{PatchType::json, "[]"}.with_precondition({.uid = "u"})), std::invalid_argument);
  CHECK_THROWS_AS((Patch{PatchType::merge, "[]"}.with_precondition({.uid = "u"})), std::invalid_argument);
  CHECK_THROWS_AS((Patch{PatchType::merge, "{"}.with_precondition({.uid = "u"})), std::invalid_argument);
}
