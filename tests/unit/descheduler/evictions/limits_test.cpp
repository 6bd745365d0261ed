// How many pods may go: in a pass (koord-descheduler's rows), and of a workload.
#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

#include "evictions/pass_limits.hpp"
#include "evictions/workload_share.hpp"

namespace koord::descheduler::test {
namespace {

struct Asked {
  const char *ns, *node;
  std::string_view says;  // empty: it may go
};
constexpr std::string_view kNode = "maximum number of evicted pods per node reached",
                           kNamespace = "maximum number of evicted pods per namespace reached",
                           kTotal = "maximum number of evicted pods total reached";

TEST_CASE("a pass evicts no more than its limits allow") {
  struct Row {
    const char* name;
    PassLimits::Limits limits;
    std::vector<Asked> asked;
    std::map<std::string, std::uint64_t> nodes, namespaces;
  };
  const Row rows[] = {
      {"no limits",
       {},
       {{"default", "node-1", ""}, {"kube-system", "node-2", ""}},
       {{"node-1", 1}, {"node-2", 1}},
       {{"default", 1}, {"kube-system", 1}}},
      {"one a node",
       {.per_node = 1},
       {{"default", "node-1", ""}, {"default", "node-1", kNode}},
       {{"node-1", 1}},
       {{"default", 1}}},
      {"one a namespace",
       {.per_namespace = 1},
       {{"default", "node-1", ""}, {"default", "node-2", kNamespace}},
       {{"node-1", 1}, {"node-2", 0}},
       {{"default", 1}}},
      {"two in all",
       {.total = 2},
       {{"default", "node-1", ""}, {"default", "node-1", ""}, {"kube-system", "node-2", kTotal}},
       {{"node-1", 2}, {"node-2", 0}},
       {{"default", 2}, {"kube-system", 0}}},
      {"all of them",
       {.per_node = 1, .per_namespace = 1, .total = 2},
       {{"default", "node-1", ""},
        {"default", "node-1", kNode},
        {"default", "node-2", kNamespace},
        {"kube-system", "node-1", kNode}},
       {{"node-1", 1}},
       {{"default", 1}}},
      {"none at all", {.total = 0}, {{"default", "node-1", kTotal}}, {{"node-1", 0}}, {{"default", 0}}},
      {"pods on no node",
       {.per_node = 1},
       {{"default", "", ""}, {"default", "", ""}},
       {{"", 0}},
       {{"default", 2}}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    PassLimits limits(row.limits);
    std::uint64_t total = 0;
    for (const Asked& each : row.asked) {
      CHECK(limits.exceeded(each.node, each.ns) == each.says);
      if (!each.says.empty()) continue;
      limits.count(each.node, each.ns);
      ++total;
    }
    for (const auto& [node, count] : row.nodes) CHECK(limits.of_node(node) == count);
    for (const auto& [ns, count] : row.namespaces) CHECK(limits.of_namespace(ns) == count);
    CHECK(limits.total() == total);
  }
}

TEST_CASE("who has used up a limit is passed over") {
  PassLimits limits({.per_node = 1, .per_namespace = 2, .total = 2});
  CHECK_FALSE(limits.node_exhausted("n"));
  limits.count("n", "ns");
  CHECK(limits.node_exhausted("n"));
  CHECK_FALSE(limits.namespace_exhausted("ns"));
  CHECK_FALSE(limits.exhausted());
  limits.count("m", "ns");
  CHECK(limits.namespace_exhausted("ns"));
  CHECK(limits.exhausted());
  PassLimits none({});
  CHECK_FALSE(none.node_exhausted("n"));
  CHECK_FALSE(none.namespace_exhausted("ns"));
  CHECK_FALSE(none.exhausted());
}

TEST_CASE("of a workload so many pods may be away") {
  struct Row {
    std::int64_t replicas;
    std::optional<api::IntOrString> said;
    std::int64_t most;
  };
  const Row rows[] = {{6, "80%", 4}, {6, "150%", 6}, {6, 5, 5},   {6, 7, 6},     {6, {}, 2},   {50, "0%", 1},
                      {1, 0, 1},     {0, {}, 0},     {0, 3, 0},   {1, {}, 1},    {3, {}, 1},   {4, {}, 2},
                      {10, {}, 2},   {11, {}, 1},    {29, {}, 2}, {100, {}, 10}, {7, "10%", 1}};
  for (const Row& row : rows) {
    INFO(row.replicas << " " << (row.said ? row.said->to_string() : "nothing"));
    const auto most = most_away(row.replicas, row.said);
    REQUIRE(most.has_value());
    CHECK(*most == row.most);
  }
  CHECK_FALSE(most_away(6, api::IntOrString("many")).has_value());
}

}  // namespace
}  // namespace koord::descheduler::test
