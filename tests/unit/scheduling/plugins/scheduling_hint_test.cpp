// SchedulingHint: nodes that a pod's annotation requires or prefers, with the cases of Koordinator's tests.
#include <catch2/catch.hpp>

#include "scheduling/plugin/pod_hint.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

constexpr const char* kHint = "internal.scheduling.koordinator.sh/scheduling-hint";
constexpr const char* kDeprecated = "scheduling.koordinator.sh/scheduling-hint";

KubeSchedulerConfiguration hinting(const char* args = "{}") {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  profile.plugins.ensure().pre_filter.enabled.push_back({"SchedulingHint", {}});
  profile.plugin_config.push_back({"SchedulingHint", {args}, nullptr});
  return config;
}

std::shared_ptr<const api::Pod> hinted(const std::string& text, const char* cpu = "100m",
                                       const char* key = kHint) {
  return make_pod("p", cpu, "1Mi", [&](api::Pod& p) { p.metadata.annotations[key] = text; });
}

std::string list(const std::vector<std::string>& names) {
  return fmt::format(R"(["{}"])", fmt::join(names, R"(",")"));
}

TEST_CASE("a hint is read") {
  const auto read = [](const api::Pod& pod) -> std::string {
    const auto hint = hint_of(pod);
    if (!hint) return "error";
    if (!*hint) return "none";
    return fmt::format("{} | {} | {}", fmt::join((*hint)->node_names, " "),
                       fmt::join((*hint)->preferred_node_names, " "), (*hint)->extensions.text);
  };
  CHECK(read(*make_pod("p")) == "none");
  CHECK(read(*hinted("value", "1", "other-annotation")) == "none");
  CHECK(read(*hinted("")) == "none");
  CHECK(read(*hinted("invalid-json")) == "error");
  CHECK(read(*hinted(R"({"nodeNames":"a"})")) == "error");
  CHECK(read(*hinted(std::string(300'000, ' '))) == "error");
  CHECK(read(*hinted(R"({"nodeNames":["node-1","node-2"],"extensions":{"key":"value"}})")) ==
        R"(node-1 node-2 |  | {"key":"value"})");
  CHECK(read(*hinted(R"({"nodeNames":["a"],"preferredNodeNames":["b","c"],"unknown":1})", "1",
                     kDeprecated)) == "a | b c | ");
  // The name of today counts, unless it is empty.
  auto both = hinted(R"({"nodeNames":["a"]})");
  CHECK(read(*changed(both, [](api::Pod& p) { p.metadata.annotations[kDeprecated] = "{"; })) == "a |  | ");
  CHECK(read(*changed(hinted(""), [](api::Pod& p) {
          p.metadata.annotations[kDeprecated] = R"({"nodeNames":["b"]})";
        })) == "b |  | ");
}

TEST_CASE("a pod goes to one of the nodes that its hint names") {
  World world(hinting());
  for (const char* name : {"a", "b", "c"}) world.engine.put_node(make_node(name, "4"));
  world.engine.put_node(make_node("large", "8"));
  const auto put = [&](const std::string& text, const char* cpu = "100m") {
    world.engine.remove_pod(*make_pod("p"));
    world.engine.put_pod(hinted(text, cpu));
    return world.one();
  };
  for (int i = 0; i < 10; ++i) CHECK(put(R"({"nodeNames":["b"]})").node() == "b");
  CHECK(put(R"({"nodeNames":["gone"]})").message() ==
        "0/4 nodes are available: 4 node(s) didn't satisfy plugin(s) [SchedulingHint].");
  CHECK(put(R"({"nodeNames":["a","b"]})", "6").message() ==
        "0/4 nodes are available: 2 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [SchedulingHint].");
  const Decision bad = put("invalid-json");
  CHECK(bad.kind() == Decision::Kind::error);
  CHECK_THAT(bad.message(), Catch::StartsWith("running PreFilter plugin \"SchedulingHint\": the pod's "));
}

TEST_CASE("preferred nodes are tried first, in their order") {
  struct Case {
    const char* name;
    std::string hint;
    const char* cpu;
    const char* node;  // "": anything goes
  };
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back(fmt::format("gone-{}", i));
  const auto preferred = [](const std::vector<std::string>& names) {
    return fmt::format(R"({{"preferredNodeNames":{}}})", list(names));
  };
  auto beyond = many, within = many;
  beyond.push_back("full");
  within.back() = "full";
  const Case cases[] = {
      // Left to the scores, the empty large one is taken.
      {"none", preferred({}).replace(22, 4, "[]"), "100m", "empty"},
      {"the first that there is room on", preferred({"small", "full", "empty"}), "1", "full"},
      {"in their order", preferred({"full", "small"}), "100m", "full"},
      {"those that are not there are passed over", preferred({"gone", "small"}), "100m", "small"},
      {"none has room: the others", preferred({"small"}), "2", "empty"},
      {"of those that are required",
       R"({"nodeNames":["full","empty"],"preferredNodeNames":["small","full"]})", "100m", "full"},
      {"none of those that are required", R"({"nodeNames":["empty"],"preferredNodeNames":["small","full"]})",
       "100m", "empty"},
      {"as many as may be", preferred(within), "100m", "full"},
      {"too many", preferred(beyond), "100m", "empty"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    World world(hinting());
    world.engine.put_node(make_node("empty", "64", "64Gi"));
    world.engine.put_node(make_node("full", "4", "8Gi"));
    world.engine.put_node(make_node("small", "500m", "1Gi"));
    world.engine.put_pod(make_pod("there", "1", "4Gi", [](api::Pod& p) { p.spec.node_name = "full"; }));
    world.engine.put_pod(hinted(c.hint, c.cpu));
    CHECK(world.one().node() == c.node);
  }
}

TEST_CASE("pods with preferred nodes alone are one class, and the nominated node comes before them") {
  World world(hinting(R"({"maxHintNodes":1})"));
  for (const char* name : {"a", "b", "c"}) world.engine.put_node(make_node(name));
  for (const char* name : {"a", "b", "c"})
    world.engine.put_pod(make_pod(fmt::format("p-{}", name), "100m", "1Mi", [&](api::Pod& p) {
      p.metadata.annotations[kHint] = fmt::format(R"({{"preferredNodeNames":["{}","a"]}})", name);
    }));
  const std::vector<Decision> decisions = world.run();
  REQUIRE(decisions.size() == 3);
  for (const Decision& d : decisions) CHECK(d.pod->metadata.name == fmt::format("p-{}", d.node().view()));
  CHECK(world.engine.classes().size() == 1);
  world.engine.put_pod(make_pod("nominated", "100m", "1Mi", [](api::Pod& p) {
    p.metadata.annotations[kHint] = R"({"preferredNodeNames":["a"]})";
    p.status.nominated_node_name = "c";
  }));
  CHECK(world.one().node() == "c");
}

TEST_CASE("a pod whose hint cannot be met is tried again when something happens") {
  World world(hinting());
  world.engine.put_node(make_node("a"));
  world.engine.put_pod(hinted(R"({"nodeNames":["later"]})"));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.clock.advance(std::chrono::seconds(20));
  CHECK(world.run().empty());
  world.engine.put_node(make_node("later"));
  CHECK(world.one().node() == "later");
}

}  // namespace
}  // namespace koord::scheduling::test
