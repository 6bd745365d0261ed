// Merging: upstream's tables (resexecutor/cri: utils_test 3 + 1 + 1 rows of resources, pod_test 1,
// container_test 2 of requests that are updated and 1 of one that is stored; utils_test 4 of maps), and where
// koord differs.
#include "merge/merge.hpp"

#include <catch2/catch.hpp>

using namespace koord;
using namespace koord::proxy;
using hooks::Map;
using hooks::Resources;

namespace {

Resources upstreams_a() {
  return {.cpu_period = 1000,
          .cpu_quota = 2000,
          .cpu_shares = 500,
          .memory_limit = 300,
          .oom_score_adj = 10,
          .cpuset_cpus = "0-64",
          .cpuset_mems = "0-2",
          .hugepages = {},
          .unified = {{"resourceA", "resource A"}},
          .memory_swap_limit = 100};
}
Resources upstreams_b() {
  return {.cpu_period = 2000,
          .cpu_quota = 4000,
          .cpu_shares = 1000,
          .memory_limit = 600,
          .oom_score_adj = 20,
          .cpuset_cpus = "0-31",
          .cpuset_mems = "0-4",
          .hugepages = {},
          .unified = {{"resourceB", "resource B"}},
          .memory_swap_limit = 200};
}
Resources upstreams_sum(std::int64_t score) {
  Resources sum = upstreams_b();
  sum.oom_score_adj = score;
  sum.unified = {{"resourceA", "resource A"}, {"resourceB", "resource B"}};
  return sum;
}
Resources small(std::int64_t period, std::int64_t shares, std::int64_t score, Map unified) {
  return {.cpu_period = period,
          .cpu_shares = shares,
          .oom_score_adj = score,
          .cpuset_cpus = {},
          .cpuset_mems = {},
          .hugepages = {},
          .unified = std::move(unified)};
}

}  // namespace

TEST_CASE("Maps: upstream's rows", "[merge]") {
  struct Row {
    Map into, said, want;
  };
  const Row rows[] = {
      {{}, {}, {}},
      {{}, {}, {}},
      {{{"key1", "value1"}}, {{"key1", "value2"}}, {{"key1", "value2"}}},
      {{{"key1", "value1"}}, {{"key2", "value2"}}, {{"key1", "value1"}, {"key2", "value2"}}},
      // Ours: the result is sorted, wherever the new names belong.
      {{{"b", "1"}, {"d", "1"}},
       {{"a", "2"}, {"b", "2"}, {"c", "2"}, {"e", "2"}},
       {{"a", "2"}, {"b", "2"}, {"c", "2"}, {"d", "1"}, {"e", "2"}}},
  };
  for (Row row : rows) {
    merge_map(row.into, row.said);
    CHECK(row.into == row.want);
  }
}

TEST_CASE("Resources: upstream's rows", "[merge]") {
  Resources by_hook = upstreams_a();
  merge_resources(by_hook, upstreams_b());
  CHECK(by_hook == upstreams_sum(20));
  Resources by_kubelet = upstreams_a();
  merge_update(by_kubelet, upstreams_b());
  CHECK(by_kubelet == upstreams_sum(10));
}

TEST_CASE("Resources: what was not said changes nothing", "[merge]") {
  Resources into = upstreams_a();
  into.hugepages = {{"2Mi", 1}};
  const Resources before = into;
  merge_resources(into, {});
  CHECK(into == before);  // upstream's empties the CPUs and the memory nodes, and sets the OOM score to 0
  for (const std::int64_t score : {-1001, 1001}) {
    merge_resources(
        into, {.oom_score_adj = score, .cpuset_cpus = {}, .cpuset_mems = {}, .hugepages = {}, .unified = {}});
    CHECK(into == before);
  }
  merge_resources(into, {.cpu_quota = -1,
                         .oom_score_adj = -1000,
                         .cpuset_cpus = {},
                         .cpuset_mems = {},
                         .hugepages = {{"1Gi", 2}, {"2Mi", 3}},
                         .unified = {}});
  CHECK(into.cpu_quota == -1);
  CHECK(into.oom_score_adj == -1000);
  CHECK(into.hugepages == std::vector<hooks::HugepageLimit>{{"2Mi", 3}, {"1Gi", 2}});
}

TEST_CASE("A sandbox: upstream's row", "[merge]") {
  hooks::PodRequest into{.meta = {},
                         .runtime_handler = {},
                         .labels = {{"A", "true"}},
                         .annotations = {{"A", "true"}},
                         .cgroup_parent = "/kubepods/besteffort",
                         .overhead = {},
                         .resources = {}};
  const hooks::PodRequest before = into;
  merge(into, {.labels = {{"B", "true"}},
               .annotations = {{"B", "true"}},
               .cgroup_parent = "/offline/besteffort",
               .resources = upstreams_a()});
  CHECK(into.labels == Map{{"A", "true"}, {"B", "true"}});
  CHECK(into.annotations == Map{{"A", "true"}, {"B", "true"}});
  CHECK(into.cgroup_parent == "/offline/besteffort");
  CHECK_FALSE(into.resources);
  CHECK(difference(before, into) == rpc::cri::PodChange{.labels = {{"B", "true"}},
                                                        .annotations = {{"B", "true"}},
                                                        .cgroup_parent = "/offline/besteffort"});
  CHECK(difference(into, into).empty());
}

TEST_CASE("A container: upstream's rows", "[merge]") {
  hooks::ContainerRequest into;
  into.annotations = {{"A", "true"}};
  into.pod_cgroup_parent = "/kubepods/besteffort";
  into.resources = small(1000, 500, 10, {{"resourceA", "resource A"}});
  const hooks::ContainerRequest before = into;
  merge(into, {.annotations = {{"B", "true"}},
               .resources = small(2000, 100, 20, {{"resourceB", "resource B"}}),
               .pod_cgroup_parent = "/offline/besteffort",
               .env = {}});
  CHECK(into.annotations == Map{{"A", "true"}, {"B", "true"}});
  CHECK(into.resources == small(2000, 100, 20, {{"resourceA", "resource A"}, {"resourceB", "resource B"}}));
  CHECK(into.pod_cgroup_parent == "/offline/besteffort");
  const rpc::cri::ContainerChange change = difference(before, into);
  CHECK(change.annotations == Map{{"B", "true"}});
  CHECK(change.resources == rpc::cri::ResourceChange{.cpu_period = 2000,
                                                     .cpu_shares = 100,
                                                     .oom_score_adj = 20,
                                                     .hugepages = {},
                                                     .unified = {{"resourceB", "resource B"}}});
  CHECK(change.pod_cgroup_parent == "/offline/besteffort");
  CHECK(change.env.empty());
  CHECK(change.env_removed.empty());
}

TEST_CASE("A container: the environment is replaced as a whole, if there is one", "[merge]") {
  hooks::ContainerRequest into;
  into.env = {{"A", "1"}, {"B", "2"}, {"C", "3"}};
  const hooks::ContainerRequest before = into;
  merge(into, {});
  CHECK(into == before);
  merge(into, {.annotations = {},
               .resources = {},
               .pod_cgroup_parent = {},
               .env = {{"A", "1"}, {"C", "4"}, {"D", "5"}}});
  const rpc::cri::ContainerChange change = difference(before, into);
  CHECK(change.env == Map{{"C", "4"}, {"D", "5"}});
  CHECK(change.env_removed == std::vector<std::string>{"B"});
}

TEST_CASE("A hook that says what it was asked with changes nothing", "[merge]") {
  hooks::ContainerRequest into;
  into.annotations = {{"a", "1"}};
  into.resources = upstreams_a();
  into.pod_cgroup_parent = "/p";
  into.env = {{"A", "1"}};
  const hooks::ContainerRequest before = into;
  merge(into, {.annotations = into.annotations,
               .resources = into.resources,
               .pod_cgroup_parent = into.pod_cgroup_parent,
               .env = into.env});
  CHECK(difference(before, into).empty());
}

TEST_CASE("Resources of a container that were not known are taken from the hook", "[merge]") {
  hooks::ContainerRequest into;
  merge(into, {.annotations = {}, .resources = small(1, 2, 3, {}), .pod_cgroup_parent = {}, .env = {}});
  CHECK(into.resources == small(1, 2, 3, {}));
}

TEST_CASE("The label that skips", "[merge]") {
  const Map labels{{"a", "1"}, {"x/skip", "true"}};
  CHECK(has(labels, "x/skip", "true"));
  CHECK_FALSE(has(labels, "x/skip", "false"));
  CHECK_FALSE(has({}, "a", "1"));
}
