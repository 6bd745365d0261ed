// PodTopologySpread beside kube-scheduler's: the clusters of its plugin's tests and random ones, with what it
// says of them, a case a line of tests/golden/scheduler/pod_topology_spread.jsonl.
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/apps_v1/stateful_set.hpp"
#include "koord/api/types/core_v1/replication_controller.hpp"
#include "koord/api/types/core_v1/service.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "spread_rig.hpp"
#include "support/tsv.hpp"

namespace koord::scheduling::test {
namespace {

template <class T>
T read(const json::Value& value) {
  auto decoded = api::decode<T>(json::to_text(value));
  REQUIRE(decoded.has_value());
  return std::move(*decoded);
}

template <class F>
void each(const json::Value& row, std::string_view key, F&& f) {
  if (const json::Value* list = json::find(row, key))
    for (const json::Value& one : list->elements()) f(one);
}

void read_labels(const json::Value& row, api::SymbolMap& labels) {
  if (const json::Value* map = json::find(row, "labels"))
    for (const json::Member& label : map->members()) labels[label.key()] = label.value.text();
}

api::Node node_of(const json::Value& row) {
  api::Node node;
  node.metadata.name = json::text_at(row, "name");
  read_labels(row, node.metadata.labels);
  each(row, "taints", [&](const json::Value& taint) { node.spec.taints.push_back(read<api::Taint>(taint)); });
  return node;
}

api::Pod pod_of(const json::Value& row) {
  api::Pod pod;
  pod.metadata.namespace_ = json::text_at(row, "namespace");
  pod.metadata.uid = json::text_at(row, "uid");
  read_labels(row, pod.metadata.labels);
  if (json::true_at(row, "deleting")) pod.metadata.deletion_timestamp = api::Time();
  each(row, "tolerations",
       [&](const json::Value& t) { pod.spec.tolerations.push_back(read<api::Toleration>(t)); });
  pod.spec.node_name = json::text_at(row, "on");
  return pod;
}

SpreadRig::Args args_of(const json::Value& row) {
  SpreadRig::Args args;
  args.defaulting_type = json::text_at(row, "type").empty() ? "List" : json::text_at(row, "type");
  each(row, "defaults", [&](const json::Value& c) {
    args.default_constraints.push_back(read<api::TopologySpreadConstraint>(c));
  });
  return args;
}

void put_objects(SpreadRig& rig, const json::Value& row) {
  each(row, "objects", [&](const json::Value& one) {
    const json::Value& object = *json::find(one, "object");
    const std::string_view kind = json::text_at(one, "kind");
    if (kind == "Service") rig.put(read<api::Service>(object));
    if (kind == "ReplicationController") rig.put(read<api::ReplicationController>(object));
    if (kind == "ReplicaSet") rig.put(read<api::ReplicaSet>(object));
    if (kind == "StatefulSet") rig.put(read<api::StatefulSet>(object));
  });
}

void fill(SpreadRig& rig, const json::Value& row) {
  for (const char* list : {"nodes", "failed"})
    each(row, list, [&](const json::Value& n) { rig.put_node(node_of(n)); });
  each(row, "pods", [&](const json::Value& p) { rig.put_pod(pod_of(p)); });
  put_objects(rig, row);
}

/// The same in the end, while the plugin watches: pods before their nodes, nodes that are others first, and
/// pods that go again.
void fill_with_detours(SpreadRig& rig, const json::Value& row, const std::function<void()>& ask) {
  const auto nodes = [&](auto&& f) {
    for (const char* list : {"nodes", "failed"})
      each(row, list, [&](const json::Value& n) { f(node_of(n)); });
  };
  std::vector<const PodInfo*> passing;
  const auto come = [&] {
    each(row, "pods", [&](const json::Value& p) {
      api::Pod pod = pod_of(p);
      pod.metadata.deletion_timestamp.reset();
      passing.push_back(rig.put_pod(pod));
    });
  };
  // Rows in the order of the nodes, as the other rig has them.
  nodes([&](api::Node node) {
    node.metadata.labels.clear();
    rig.put_node(node);
  });
  come();
  ask();
  nodes([&](api::Node node) {
    for (auto& label : node.metadata.labels) node.metadata.labels[label.key] = "elsewhere";
    node.spec.taints.clear();
    rig.put_node(node);
  });
  each(row, "pods", [&](const json::Value& p) { rig.put_pod(pod_of(p)); });
  put_objects(rig, row);
  ask();
  nodes([&](const api::Node& node) { rig.put_node(node); });
  ask();
  for (const PodInfo* pod : passing) rig.remove_pod(pod);
  passing.clear();
  nodes([&](const api::Node& node) { rig.remove_node(node.metadata.name); });
  come();
  ask();
  nodes([&](const api::Node& node) { rig.put_node(node); });
  for (const PodInfo* pod : passing) rig.remove_pod(pod);
}

std::vector<Row> rows_of(SpreadRig& rig, const json::Value& row) {
  std::vector<Row> rows;
  each(row, "nodes", [&](const json::Value& n) { rows.push_back(rig.nodes.find(json::text_at(n, "name"))); });
  return rows;
}

std::vector<std::int64_t> numbers(const json::Value& row, std::string_view key) {
  std::vector<std::int64_t> all;
  each(row, key, [&](const json::Value& n) { all.push_back(*n.to_int()); });
  return all;
}

/// Rows come ascending; what is said of them is told in the order of the file.
struct InOrder {
  explicit InOrder(std::vector<Row> rows) : sorted(rows), places(rows.size()) {
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < rows.size(); ++i)
      places[i] =
          static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), rows[i]) - sorted.begin());
  }
  template <class List>
  List told(const List& said) const {
    if (said.size() != places.size()) return said;
    List all = said;
    for (std::size_t i = 0; i < places.size(); ++i) all[i] = said[places[i]];
    return all;
  }
  std::vector<Row> sorted;
  std::vector<std::size_t> places;
};

/// With each of the skews that the row has verdicts for, larger by one each.
void check_verdicts(const json::Value& row, bool detours) {
  SpreadRig rig(args_of(row));
  std::vector<std::pair<PodInfo, std::unique_ptr<PodState>>> asked;
  const api::Pod pod = read<api::Pod>(*json::find(row, "pod"));
  std::vector<std::string> expected;
  each(row, "verdicts", [&](const json::Value& v) {
    expected.emplace_back(v.text());
    api::Pod more = pod;
    for (auto& c : more.spec.topology_spread_constraints)
      c.max_skew += static_cast<std::int32_t>(expected.size()) - 1;
    asked.emplace_back(rig.info(more), nullptr);
  });
  const auto prepare = [&] {
    for (auto& [info, state] : asked) state = rig.filter->prepare_cross_node_filter(info);
  };
  if (detours) {
    prepare();
    fill_with_detours(rig, row, [&] {
      std::vector<Row> rows;
      for (Row r = 0; r < rig.nodes.rows(); ++r)
        if (rig.nodes.node(r)) rows.push_back(r);
      for (auto& [info, state] : asked) rig.judge(*state, info, rows);
    });
  } else {
    fill(rig, row);
    prepare();
  }
  const InOrder order(rows_of(rig, row));
  const std::vector<Row>& rows = order.sorted;
  const json::Value *add = json::find(row, "add"), *remove = json::find(row, "remove");
  for (std::size_t i = 0; i < asked.size(); ++i) {
    auto& [info, state] = asked[i];
    std::string verdicts = rig.judge(*state, info, rows);
    if (add != nullptr || remove != nullptr) {
      const std::string before = verdicts;
      const Row at = rig.nodes.find(json::text_at(row, "at"));
      const PodInfo other = rig.info(pod_of(add != nullptr ? *add : *remove));
      const auto change = [&](bool undo) {
        if ((add != nullptr) != undo) {
          rig.filter->add_pod(*state, info, other, at);
        } else {
          rig.filter->remove_pod(*state, info, other, at);
        }
      };
      change(false);
      verdicts = rig.verdicts_on(*state, rows);
      change(true);
      CHECK(rig.verdicts_on(*state, rows) == before);
    }
    const bool said = verdicts != "skip" && !verdicts.starts_with("error");
    CHECK((said ? order.told(verdicts) : verdicts) == expected[i]);
    // One by one it is the same.
    if (add != nullptr || remove != nullptr || !said) continue;
    std::string each_alone;
    for (const Row r : rows) each_alone += rig.verdicts_on(*state, {&r, 1});
    CHECK(each_alone == verdicts);
  }
}

void check_scores(const json::Value& row, bool detours) {
  SpreadRig rig(args_of(row));
  const PodInfo pod = rig.info(read<api::Pod>(*json::find(row, "pod")));
  std::unique_ptr<PodState> state;
  const auto ask = [&](std::span<const Row> rows) {
    std::vector<std::int64_t> scores(rows.size(), 7);
    if (!rig.score->may_score(*state, pod)) return std::vector<std::int64_t>{};
    REQUIRE(rig.score->pre_score(*state, pod, rig.nodes, rows));
    rig.score->score(*state, rig.nodes, rows, scores);
    return scores;
  };
  if (detours) {
    state = rig.score->prepare_cross_node_score(pod);
    fill_with_detours(rig, row, [&] {
      std::vector<Row> rows;
      for (Row r = 0; r < rig.nodes.rows(); ++r)
        if (rig.nodes.node(r)) rows.push_back(r);
      ask(rows);
    });
  } else {
    fill(rig, row);
    state = rig.score->prepare_cross_node_score(pod);
  }
  const InOrder order(rows_of(rig, row));
  if (json::true_at(row, "skip")) {
    CHECK_FALSE(rig.score->may_score(*state, pod));
    return;
  }
  std::vector<std::int64_t> scores = ask(order.sorted);
  CHECK(order.told(scores) == numbers(row, "raw"));
  rig.score->normalize(*state, order.sorted, scores);
  CHECK(order.told(scores) == numbers(row, "scores"));
}

void check_hint(const json::Value& row, bool node) {
  SpreadRig rig;
  const PodInfo pod = rig.info(read<api::Pod>(*json::find(row, "pod")));
  const json::Value *before = json::find(row, "before"), *now = json::find(row, "now");
  api::Node old_node, new_node;
  api::Pod old_pod, new_pod;
  ClusterEvent event{.kind = node ? EventKind::node_label : EventKind::assigned_pod_label};
  if (before != nullptr && node) event.old_node = &(old_node = node_of(*before));
  if (now != nullptr && node) event.new_node = &(new_node = node_of(*now));
  if (before != nullptr && !node) event.old_pod = &(old_pod = pod_of(*before));
  if (now != nullptr && !node) event.new_pod = &(new_pod = pod_of(*now));
  CHECK(rig.hints->worth_retrying(pod, event) == json::true_at(row, "queue"));
}

TEST_CASE("spreading says what kube-scheduler's plugin says") {
  std::ifstream in(koord::test::golden("scheduler/pod_topology_spread.jsonl"));
  REQUIRE(in.good());
  std::size_t cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    auto row = json::parse(line);
    REQUIRE(row.has_value());
    const std::string_view id = json::text_at(*row, "id");
    INFO(id);
    for (const bool detours : {false, true}) {
      INFO(detours);
      if (json::find(*row, "verdicts") != nullptr) {
        check_verdicts(*row, detours);
      } else if (id.find("hint") == id.npos) {
        check_scores(*row, detours);
      }
    }
    if (json::find(*row, "queue") != nullptr) check_hint(*row, id.starts_with("node"));
  }
  CHECK(cases > 250);
}

}  // namespace
}  // namespace koord::scheduling::test
