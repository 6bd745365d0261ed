// Marks of nodes: what is set is undone, and nothing that others have set.
#include "drain/cordon.hpp"

#include "drain_cluster.hpp"

namespace koord::descheduler::drain::test {
namespace {

api::DrainNode drain_by(std::string_view mode) {
  api::DrainNode drain;
  drain.metadata.name = "d";
  drain.spec.node_name = "n";
  if (!mode.empty()) drain.spec.cordon_policy.emplace().mode = Symbol(mode);
  if (mode == "Label") drain.spec.cordon_policy->labels = {{"a", Symbol("new")}, {"b", Symbol("new")}};
  return drain;
}

api::Node node_of(std::string_view json) { return api::decode<api::Node>(json).value(); }

TEST_CASE("cordoned and uncordoned again a node is as it was, whatever it had") {
  for (
      const std::string_view json : {
          R"({"metadata":{"name":"n"}})",
          R"({"metadata":{"name":"n","labels":{"a":"old","c":"c"},"annotations":{"x":"y"}}})",
          R"({"metadata":{"name":"n","labels":{"a":"new"}}})",
          R"({"metadata":{"name":"n"},"spec":{"unschedulable":true,"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}})",
          R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"drain.descheduler.koordinator.sh/drain-node","value":"e","effect":"NoSchedule"}]}})",
          R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"drain.descheduler.koordinator.sh/drain-node","value":"e","effect":"NoExecute"}]}})",
          R"({"metadata":{"name":"n","labels":{"drain.descheduler.koordinator.sh/node-planning":""}}})",
          R"({"metadata":{"name":"n","annotations":{"drain.descheduler.koordinator.sh/cordon-labels":"{"}}})",
      })
    for (const std::string_view mode : {"", "Taint", "Label", "of no kind"}) {
      CAPTURE(json, mode);
      const api::Node before = node_of(json);
      const api::Node during = cordoned(before, drain_by(mode));
      CHECK(during.metadata.labels.contains(api::kDrainPlanningLabel));
      CHECK(cordoned(through_text(during), drain_by(mode)) == during);
      CHECK(uncordoned(through_text(during), "d") == before);
      CHECK(uncordoned(during, "e").metadata.labels == during.metadata.labels);
    }
}

TEST_CASE("a label that somebody has changed meanwhile is theirs") {
  api::Node node = node_of(R"({"metadata":{"name":"n","labels":{"a":"old"}}})");
  node = cordoned(node, drain_by("Label"));
  CHECK(api::value_or(node.metadata.labels, "a") == "new");
  node.metadata.labels["a"] = "theirs";
  node = uncordoned(node, "d");
  CHECK(api::value_or(node.metadata.labels, "a") == "theirs");
  CHECK_FALSE(node.metadata.labels.contains("b"));
  CHECK(node.metadata.annotations.empty());
}

TEST_CASE("labels that change while they are set give back what was there before the first of them") {
  api::DrainNode drain = drain_by("Label");
  api::Node node = cordoned(node_of(R"({"metadata":{"name":"n","labels":{"a":"old"}}})"), drain);
  drain.spec.cordon_policy->labels["a"] = "newer";
  node = cordoned(node, drain);
  CHECK(api::value_or(node.metadata.labels, "a") == "newer");
  CHECK(api::value_or(uncordoned(node, "d").metadata.labels, "a") == "old");
}

TEST_CASE("names that fit into labels") {
  CHECK(drain_name("g", "n") == "g-n");
  const std::string long_node = "node-with-a-long-name.of.some-zone.of.some-region.example.com";
  const std::string name = drain_name("group", long_node);
  CHECK(name.size() <= 63);
  CHECK(name.starts_with("group-node-with-a-long-name"));
  CHECK(name != drain_name("group", long_node + "x"));
  CHECK(part_name("d", "01234567-89ab") == "d-01234567");
}

}  // namespace
}  // namespace koord::descheduler::drain::test
