// SchedulerPlacement: pods that go together keep the scheduler's rules among themselves.
#include "drain/scheduler_placement.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler::drain::test {
namespace {

using descheduler::test::node_of;
using descheduler::test::pod_of;

/// Where the pods of node "old" would go: "NODE NODE ...", "-" for none.
std::string where(std::vector<std::string> node_rows, const std::vector<std::string>& pod_rows,
                  std::string_view last_choice = {}) {
  ManualClock clock;
  const auto model = SchedulerModel::make(clock, {}).value();
  scheduling::Engine& engine = model->engine();
  std::vector<PodPtr> pods;
  for (const std::string& row : pod_rows) {
    PodPtr pod = pod_of(row);
    engine.put_pod(pod);
    if (pod->spec.node_name == "old") pods.push_back(std::move(pod));
  }
  engine.put_node(node_of("old"));
  std::vector<Elsewhere> nodes;
  for (const std::string& row : node_rows) {
    const auto node = node_of(row);
    engine.put_node(node);
    nodes.push_back({.view = {.node = node, .pods = {}, .metric = {}, .ready = true},
                     .reserved = {},
                     .is_last_choice = node->metadata.name == last_choice});
  }
  const std::size_t before = engine.pods();
  std::string first;
  for (int turn = 0; turn < 2; ++turn) {  // nothing of the first is left
    std::string all;
    for (const Symbol& node : SchedulerPlacement(*model).place(pods, nodes))
      all += (all.empty() ? "" : " ") + (node.empty() ? std::string("-") : node.str());
    if (turn == 0) first = all;
    CHECK(all == first);
    CHECK(engine.pods() == before);
  }
  return first;
}

}  // namespace

TEST_CASE("pods that leave together are placed one after the other, the largest first") {
  CHECK(where({"n1 cpu=1500", "n2 cpu=1000"}, {"p old cpu=800", "q old cpu=1200"}) == "n2 n1");
  CHECK(where({"n1 cpu=1500"}, {"p old cpu=800", "q old cpu=1200"}) == "- n1");
}

TEST_CASE("pods that leave together keep away from one another where they have to") {
  const std::string apart = " label:app=x apart:app=x@kubernetes.io/hostname";
  const std::string n1 = "n1 cpu=4000 label:kubernetes.io/hostname=n1",
                    n2 = "n2 label:kubernetes.io/hostname=n2";
  CHECK(where({n1, n2}, {"p old cpu=300" + apart, "q old cpu=200" + apart}) == "n1 n2");
  CHECK(where({n1}, {"p old cpu=300" + apart, "q old cpu=200" + apart}) == "n1 -");
}

TEST_CASE("nodes that refuse a pod by any rule, and those that would rather be spared") {
  const std::string port =
      R"( {"spec":{"containers":[{"name":"c","ports":[{"containerPort":80,"hostPort":80}]}]}})";
  CHECK(where({"n1", "n2 cordoned"}, {"p old" + port, "q n1" + port}) == "-");
  CHECK(where({"n1 cpu=9000", "n2"}, {"p old", "q n2"}) == "n1");
  CHECK(where({"n1 cpu=9000", "n2"}, {"p old", "q n2"}, "n1") == "n2");
  CHECK(where({"n1 cpu=9000", "n2"}, {"p old cpu=1500", "q n2 cpu=1500"}, "n1") == "n1");
}

}  // namespace koord::descheduler::drain::test
