// FragmentationAware: all 12 rows of TestFragmentationAware, 8 of its scores but the 3 with nothing given,
// and 7 of 8 of its validation (arguments are never nil).
#include <catch2/catch.hpp>

#include "plugins/fragmentation_aware/imbalance.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kFragmentationAware;
}

namespace koord::descheduler::test {
namespace {

using Texts = std::vector<std::string>;

TEST_CASE("the pod goes without which a node's resources are asked for most evenly") {
  const std::string n1 = "node1 cpu=4000 memory=4000 label:pool=test", n2 = "node2 cpu=4000 memory=4000";
  const std::string loose = R"("imbalanceThreshold":0.1,"nodeFit":false)";
  const std::string usual = loose + R"(,"minImprovementThreshold":0.01)";
  const std::string not_system = usual + R"(,"evictableNamespaces":{"exclude":["kube-system"]})";
  struct Row {
    const char* what;
    const char* gone;
    std::string args;
    Texts nodes, pods;
  };
  const Row rows[] = {
      {"paused", "", loose + R"(,"paused":true)", {n1}, {"pod1 node1 cpu=3000 memory=1000"}},
      {"selected nodes",
       "pod1",
       loose + R"(,"nodeSelector":{"matchLabels":{"pool":"test"}})",
       {n1, n2},
       {"pod1 node1 cpu=3000 memory=1000", "pod2 node2 cpu=3000 memory=1000"}},
      {"selected pods",
       "pod1",
       usual + R"(,"podSelectors":[{"selector":{"matchLabels":{"foo":"bar"}}},{}])",
       {n1},
       {"pod1 node1 cpu=2000 memory=500 label:foo=bar", "pod2 node1 cpu=1000 memory=500"}},
      {"even enough",
       "",
       R"("imbalanceThreshold":0.5,"nodeFit":false)",
       {n1},
       {"pod1 node1 cpu=2000 memory=2000"}},
      {"the best", "pod1", usual, {n1}, {"pod1 node1 cpu=2500 memory=500", "pod2 node1 cpu=500 memory=500"}},
      {"the best may not go",
       "pod2",
       not_system,
       {n1},
       {"pod1 node1 ns=kube-system cpu=2500 memory=500", "pod2 node1 cpu=2000 memory=200"}},
      {"who may not go counts",
       "pod2",
       not_system,
       {n1},
       {"pod1 node1 ns=kube-system cpu=2000 memory=100", "pod2 node1 cpu=1000 memory=100"}},
      {"too little gained",
       "",
       loose + R"(,"minImprovementThreshold":0.5)",
       {n1},
       {"pod1 node1 cpu=2500 memory=500"}},
      {"it fits nowhere",
       "",
       R"("imbalanceThreshold":0.1,"minImprovementThreshold":0.01)",
       {n1, n2},
       {"pod1 node1 cpu=5000 memory=500"}},
      {"the one", "pod1", usual, {n1}, {"pod1 node1 cpu=2500 memory=500"}},
      {"of two alike the first",
       "a",
       usual,
       {n1},
       {"a node1 cpu=1000 memory=0", "b node1 cpu=1000 memory=0"}},
      {"a dry run", "", usual + R"(,"dryRun":true)", {n1}, {"pod1 node1 cpu=2500 memory=500"}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(gone(kFragmentationAware, "{" + row.args + "}", {row.nodes, row.pods}) == row.gone);
  }
  const auto pass = pass_of({{n1}, {"pod1 node1 cpu=2500 memory=500"}});
  pass->filter_now = [](const api::Pod&) { return false; };
  run(*make_plugin(kFragmentationAware, "{" + usual + "}"), *pass);
  CHECK(pass->gone.empty());
  pass->filter_now = [](const api::Pod&) { return true; };
  run(*make_plugin(kFragmentationAware, "{" + usual + "}"), *pass);
  REQUIRE(pass->gone.size() == 1);
  CHECK(pass->gone[0].reason == "fragmentation reduction: stdBefore=0.2500 stdAfter=0.0000 gain=0.2500");
}

TEST_CASE("imbalance is the standard deviation of what is asked for of each resource") {
  const auto score = [](const std::string& node, const Texts& pods, const Texts& resources) {
    const auto made = node_of("n " + node);
    fragmentation_aware::Imbalance imbalance(*made, resources);
    for (const std::string& pod : pods) imbalance.add(*pod_of(pod));
    return imbalance.score();
  };
  const auto gain = [&](const Texts& pods, std::size_t without) {
    Texts after = pods;
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(without));
    return score("cpu=1000 memory=1024", pods, {"cpu", "memory"}) -
           score("cpu=1000 memory=1024", after, {"cpu", "memory"});
  };
  const Texts both = {"cpu", "memory"};
  CHECK(score("cpu=1000 memory=1024", {}, {}) == 0);
  CHECK(score("cpu=1000 memory=1024", {"p1 n cpu=500 memory=512"}, both) < 0.01);
  CHECK(score("cpu=1000 memory=1024", {"p1 n cpu=900 memory=100"}, both) > 0.1);
  CHECK(score("cpu=1000 memory=0", {"p1 n cpu=500 memory=512"}, both) == 0);
  CHECK(score("cpu=1000 example.com/gpu=2", {"p1 n cpu=0 example.com/gpu=1"}, {"example.com/gpu", "cpu"}) ==
        0.25);
  CHECK(gain({"heavy n cpu=800 memory=100", "even n cpu=100 memory=100"}, 0) > 0);
  CHECK(gain({"a n cpu=200 memory=800", "b n cpu=600 memory=100"}, 1) < 0);
}

TEST_CASE("FragmentationAware refuses what cannot be in Koordinator's words") {
  const auto refused = [](const char* args) { return why_refused(kFragmentationAware, args); };
  CHECK(refused("{}").empty());
  CHECK(refused(R"({"resources":[]})").empty());
  CHECK(refused(R"({"resources":["cpu","cpu"]})") == "resources[1]: Duplicate value: \"cpu\"");
  CHECK(refused(R"({"imbalanceThreshold":-0.5})") ==
        "imbalanceThreshold: Invalid value: -0.5: must be greater than or equal to 0");
  CHECK(
      refused(R"({"minImprovementThreshold":-1})").starts_with("minImprovementThreshold: Invalid value: -1"));
  CHECK(refused(R"({"nodeSelector":{"matchExpressions":[{"key":"a","operator":"no"}]}})")
            .starts_with("nodeSelector: Invalid value: "));
  CHECK(refused(R"({"podSelectors":[{"selector":{"matchExpressions":[{"key":"a","operator":"no"}]}}]})")
            .starts_with("podSelectors[0]: Invalid value: "));
  CHECK(refused(R"({"podSelectors":[{}]})") ==
        "podSelectors: Required value: none of them has a selector: all pods would be chosen");
  CHECK(refused(R"({"evictableNamespaces":{"include":["default"],"exclude":["default"]}})")
            .ends_with("only one of Include/Exclude namespaces can be set"));
}

}  // namespace
}  // namespace koord::descheduler::test
