// NodeResourcesFit's scores, with kube-scheduler's own cases, and what is wrong with its arguments.
#include <catch2/catch.hpp>
#include <sstream>

#include "koord/scheduling/cluster/pod_info.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

/// "cpu=4000 memory=10000"
api::ResourceList amounts(const std::string& text) {
  api::ResourceList all;
  std::istringstream in(text);
  for (std::string pair; in >> pair;) {
    const std::size_t is = pair.find('=');
    all[pair.substr(0, is)] = api::Quantity::must(pair.substr(is + 1));
  }
  return all;
}

/// One container for each of the lists.
std::shared_ptr<const api::Pod> asking(const std::string& name, const std::vector<std::string>& containers) {
  return make_pod(name, "", "", [&](api::Pod& pod) {
    pod.spec.containers.clear();
    for (const std::string& c : containers)
      pod.spec.containers.emplace_back().resources.requests = amounts(c);
  });
}

const std::string kBoth = R"([{"name":"cpu","weight":1},{"name":"memory","weight":1}])";
const std::string kExtended =
    R"([{"name":"cpu","weight":1},{"name":"memory","weight":1},{"name":"abc.com/xyz","weight":1}])";
const std::string kMemory = R"([{"name":"memory","weight":2},{"name":"cpu","weight":1}])";

std::string least(const std::string& resources) {
  return fmt::format(R"({{"scoringStrategy":{{"type":"LeastAllocated","resources":{}}}}})", resources);
}
std::string most(const std::string& resources) {
  return fmt::format(R"({{"scoringStrategy":{{"type":"MostAllocated","resources":{}}}}})", resources);
}
std::string ratio(const std::string& resources, const std::string& shape) {
  return fmt::format(R"({{"scoringStrategy":{{"type":"RequestedToCapacityRatio","resources":{},)"
                     R"("requestedToCapacityRatio":{{"shape":{}}}}}}})",
                     resources, shape);
}

struct Case {
  const char* name;
  std::string args;
  std::vector<std::string> pod;  // its containers
  std::vector<std::string> nodes;
  std::vector<std::pair<int, std::vector<std::string>>> there;  // pods on nodes
  std::vector<std::int32_t> scores;
};

std::vector<std::int32_t> scores(const Case& c) {
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugin_config.push_back({"NodeResourcesFit", {c.args}, {}});
  World world(std::move(config));
  Engine& engine = world.engine;
  for (std::size_t i = 0; i < c.nodes.size(); ++i)
    engine.put_node(make_node(fmt::format("n{}", i), "1", "1",
                              [&](api::Node& n) { n.status.allocatable = amounts(c.nodes[i]); }));
  int number = 0;
  for (const auto& [node, containers] : c.there)
    engine.put_pod(changed(asking(fmt::format("there{}", ++number), containers),
                           [&, at = node](api::Pod& p) { p.spec.node_name = fmt::format("n{}", at); }));
  // Of the plugin alone: on nodes without the room, too.
  for (const auto& registered : engine.profiles()[0].scores) {
    if (engine.profiles()[0].plugin_name(registered.index) != "NodeResourcesFit") continue;
    const PluginContext context = engine.context();
    const auto prepared =
        registered.local->prepare_score(make_pod_info(asking("p", c.pod), context.nodes.resources()));
    std::vector<Row> rows;
    for (Row row = 0; row < context.nodes.rows(); ++row) rows.push_back(row);
    std::vector<std::int32_t> out(rows.size());
    registered.local->score(prepared.state.get(), context.nodes, rows, out);
    return out;
  }
  throw std::runtime_error("no such plugin");
}

TEST_CASE("nodes are scored as kube-scheduler scores them, by each strategy") {
  using Pods = std::vector<std::pair<int, std::vector<std::string>>>;
  const std::vector<std::string> kTwo = {"cpu=1000 memory=2000", "cpu=2000 memory=3000"};
  const std::vector<std::string> kAlike = {"cpu=4000 memory=10000", "cpu=4000 memory=10000"},
                                 kLarger = {"cpu=4000 memory=10000", "cpu=6000 memory=10000"},
                                 kLarge = {"cpu=10000 memory=20000", "cpu=10000 memory=20000"},
                                 kDevices = {"cpu=6000 memory=10000", "cpu=6000 memory=10000 abc.com/xyz=4"},
                                 kMore = {"cpu=6000 memory=10000 abc.com/xyz=4",
                                          "cpu=6000 memory=10000 abc.com/xyz=10"};
  const std::string kBatch =
      "cpu=1000 memory=1000000000 kubernetes.io/batch-cpu=10000 kubernetes.io/batch-memory=10000";
  const std::string kCpu = "cpu=3000 memory=0", kMixed = "cpu=3000 memory=5000";
  const Pods kFour = {{0, {kCpu}}, {0, {kCpu}}, {1, {kCpu}}, {1, {kMixed}}},
             kOneEach = {{0, {kCpu}}, {1, {kMixed}}};
  const std::string kDeviceFirst =
      R"([{"name":"abc.com/xyz","weight":2},{"name":"cpu","weight":1},{"name":"memory","weight":1}])";
  const std::vector<Case> kCases = {
      {"nothing", least(kBoth), {}, kAlike, {}, {100, 100}},
      {"nodes that differ", least(kBoth), kTwo, kLarger, {}, {37, 50}},
      {"pods without requests", least(kBoth), {}, kAlike, {{0, {}}, {0, {}}, {1, {}}, {1, {}}}, {100, 100}},
      {"pods with requests", least(kBoth), {}, kLarge, kFour, {70, 57}},
      {"both", least(kBoth), kTwo, kLarge, kOneEach, {57, 45}},
      {"both, nodes that differ",
       least(kBoth),
       kTwo,
       {kLarge[0], "cpu=10000 memory=50000"},
       kOneEach,
       {57, 60}},
      {"more than there is", least(kBoth), {kCpu}, kAlike, kOneEach, {50, 25}},
      {"batch resources, as in Koordinator's profiles",
       least(
           R"([{"name":"cpu","weight":1},{"name":"memory","weight":1},{"name":"kubernetes.io/batch-cpu","weight":1},)"
           R"({"name":"kubernetes.io/batch-memory","weight":1}])"),
       {"kubernetes.io/batch-cpu=1000 kubernetes.io/batch-memory=2000"},
       {kBatch, kBatch},
       {{0, {"cpu=0 memory=0 kubernetes.io/batch-cpu=8000 kubernetes.io/batch-memory=2000"}}},
       {62, 87}},
      {"nodes without anything", least(kBoth), {}, {"", ""}, kOneEach, {0, 0}},
      {"weights", least(kMemory), kTwo, kLarger, {}, {41, 50}},
      {"devices that are not asked for", least(kExtended), kTwo, kDevices, {}, {50, 50}},
      {"devices", least(kExtended), {"cpu=3000 memory=5000 abc.com/xyz=2"}, kMore, {}, {50, 60}},
      {"devices that a node lacks", least(kDeviceFirst), {"cpu=3000 memory=4000"}, kDevices, {}, {55, 55}},

      {"nothing", most(kBoth), {}, kAlike, {}, {0, 0}},
      {"nodes that differ", most(kBoth), kTwo, kLarger, {}, {62, 50}},
      {"pods with requests", most(kBoth), {}, kLarge, kFour, {30, 42}},
      {"both", most(kBoth), kTwo, kLarge, kOneEach, {42, 55}},
      {"all that there is",
       most(kBoth),
       {"cpu=2000 memory=4000", "cpu=3000 memory=5000"},
       {"cpu=5000 memory=10000", "cpu=10000 memory=9000"},
       {},
       {95, 75}},
      {"weights", most(kMemory), kTwo, kLarger, {}, {58, 50}},
      {"containers without requests",
       most(kBoth),
       {""},
       {"cpu=250m memory=1000Mi", "cpu=250m memory=1000Mi"},
       {{0, {""}}, {0, {""}}},
       {80, 30}},
      {"devices that are not asked for", most(kExtended), kTwo, kDevices, {}, {50, 50}},
      {"devices", most(kExtended), {"cpu=3000 memory=5000 abc.com/xyz=2"}, kMore, {}, {50, 40}},
      {"devices that a node lacks", most(kDeviceFirst), {"cpu=3000 memory=4000"}, kDevices, {}, {45, 45}},
  };
  for (const Case& c : kCases) {
    INFO(c.args << ": " << c.name);
    CHECK(scores(c) == c.scores);
  }

  const std::string kDown = R"([{"utilization":0,"score":10},{"utilization":100,"score":0}])",
                    kUp = R"([{"utilization":0,"score":0},{"utilization":100,"score":1}])";
  const std::string kFoo = R"([{"name":"intel.com/foo","weight":1}])",
                    kFooBar = R"([{"name":"intel.com/foo","weight":3},{"name":"intel.com/bar","weight":5}])";
  const std::vector<std::string> kFoos = {"intel.com/foo=8", "intel.com/foo=4"},
                                 kFooBars = {"intel.com/foo=8 intel.com/bar=4",
                                             "intel.com/foo=4 intel.com/bar=8"};
  const std::vector<std::string> kTwoEach = {"intel.com/foo=2 intel.com/bar=2"},
                                 kFourTwo = {"intel.com/foo=4 intel.com/bar=2"};
  const std::vector<Case> kRatios = {
      {"nothing", ratio(kBoth, kDown), {}, kAlike, {{0, {}}, {0, {}}}, {100, 100}},
      {"nodes that differ", ratio(kBoth, kDown), kTwo, kLarger, {}, {38, 50}},
      {"pods with requests", ratio(kBoth, kDown), {}, kLarger, {{0, {kMixed}}, {1, {kMixed}}}, {38, 50}},
      {"no device", ratio(kFoo, kUp), {}, kFoos, {}, {0, 0}},
      {"two devices", ratio(kFoo, kUp), {"intel.com/foo=2"}, kFoos, {}, {2, 5}},
      {"two devices, two taken",
       ratio(kFoo, kUp),
       {"intel.com/foo=2"},
       kFoos,
       {{1, {"intel.com/foo=2"}}},
       {2, 10}},
      {"four devices", ratio(kFoo, kUp), {"intel.com/foo=4"}, kFoos, {}, {5, 10}},
      {"none of two kinds", ratio(kFooBar, kUp), {}, kFooBars, {}, {0, 0}},
      {"two kinds", ratio(kFooBar, kUp), kTwoEach, kFooBars, {}, {4, 3}},
      {"two kinds, some taken", ratio(kFooBar, kUp), kTwoEach, kFooBars, {{1, kFourTwo}}, {4, 7}},
      {"more of one kind", ratio(kFooBar, kUp), kFourTwo, kFooBars, {}, {5, 5}},
      // Before the first point, on a line, on a point, behind the last one: tenths of a broken line.
      {"a broken line",
       ratio(kFoo, R"([{"utilization":10,"score":1},{"utilization":90,"score":9}])"),
       {"intel.com/foo=9"},
       {"intel.com/foo=100", "intel.com/foo=45", "intel.com/foo=10", "intel.com/foo=9"},
       {},
       {10, 20, 90, 90}},
  };
  for (const Case& c : kRatios) {
    INFO(c.args << ": " << c.name);
    CHECK(scores(c) == c.scores);
  }
}

TEST_CASE("what is wrong with the arguments is named in kube-scheduler's words") {
  struct Row {
    const char *args, *error;
  };
  const Row kRows[] = {
      {R"({"ignoredResources":["/r"]})",
       "ignoredResources[0]: Invalid value: \"/r\": prefix part must be non-empty"},
      {R"({"ignoredResourceGroups":["a/b"]})",
       "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"},
      {R"({"ignoredResourceGroups":["-"]})",
       "ignoredResourceGroups[0]: Invalid value: \"-\": name part must consist of"},
      {R"({"scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"memory","weight":-1}]}})",
       "scoringStrategy.resources[0].weight: Invalid value: -1: resource weight of memory not in valid range "
       "(0, 100]"},
      {R"({"scoringStrategy":{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":{"shape":[]}}})",
       "scoringStrategy.shape: Required value: at least one point must be specified"},
      {R"({"scoringStrategy":{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":{"shape":)"
       R"([{"utilization":-1,"score":11}]}}})",
       "scoringStrategy.shape[0].score: Invalid value: 11: not in valid range [0, 10]"},
  };
  for (const Row& row : kRows) {
    INFO(row.args);
    KubeSchedulerConfiguration config;
    config.profiles.emplace_back().plugin_config.push_back({"NodeResourcesFit", {row.args}, {}});
    REQUIRE(complete(config, plugin_table()).has_value());
    const auto valid = validate(config, plugin_table());
    REQUIRE(valid.has_error());
    CHECK_THAT(valid.error().message(), Catch::Matchers::Contains(row.error));
  }
}

}  // namespace
}  // namespace koord::scheduling::test
