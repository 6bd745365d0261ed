// See scheduler_node_fit.hpp.
#include "fitting/scheduler_node_fit.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/engine/engine.hpp"

namespace koord::descheduler {

namespace {

/// Something of the pod's makes the answer of one node follow from others: what it shares with pods there,
/// and whom it wants to be beside or away from. Others may keep away from it all the same.
bool reaches_over_nodes(const api::Pod& pod) {
  const api::Affinity* const affinity = pod.spec.affinity.get();
  return !pod.spec.resource_claims.empty() ||
         (affinity != nullptr &&
          ((affinity->pod_affinity && !affinity->pod_affinity->required.empty()) ||
           (affinity->pod_anti_affinity && !affinity->pod_anti_affinity->required.empty()))) ||
         std::ranges::any_of(pod.spec.topology_spread_constraints,
                             [](const api::TopologySpreadConstraint& c) {
                               return c.when_unsatisfiable == "DoNotSchedule";
                             }) ||
         std::ranges::any_of(pod.spec.volumes, [](const api::Volume& volume) {
           return volume.persistent_volume_claim || volume.ephemeral;
         });
}

}  // namespace

struct SchedulerNodeFit::Asked {
  const api::Pod* pod;
  std::string uid, version;
  Row home;                                 // its node's
  bool refused = false;                     // whatever the nodes are
  bool out = false;                         // so its own node is one like the others
  scheduling::ClassState* state = nullptr;  // of which `asked` says that it is still good
  std::uint64_t asked = 0;

  bool is_of(const api::Pod& other) const {
    return pod == &other && uid == other.metadata.uid && version == other.metadata.resource_version;
  }
};

SchedulerNodeFit::SchedulerNodeFit(SchedulerModel& model, const Snapshot& snapshot)
    : model_(model), snapshot_(snapshot) {
  model_.hold();
  const scheduling::NodeTable& table = model_.nodes();
  rows_.reserve(snapshot.nodes().size());
  for (const NodeView& node : snapshot.nodes()) rows_.push_back(table.find(node.node->metadata.name));
}
SchedulerNodeFit::~SchedulerNodeFit() { model_.release(); }

SchedulerNodeFit::Row SchedulerNodeFit::row_of(const NodeView& node) {
  const std::span<const NodeView> nodes = snapshot_.nodes();
  const std::less<> before;  // of pointers into several arrays, too
  if (before(&node, nodes.data()) || !before(&node, nodes.data() + nodes.size()))
    return model_.nodes().find(node.node->metadata.name);
  return rows_[static_cast<std::size_t>(&node - nodes.data())];
}

/// The pod as the snapshot shares it; a copy of one that it does not have.
PodPtr SchedulerNodeFit::known(const api::Pod& pod) const {
  if (const NodeView* const node = snapshot_.node(pod.spec.node_name.view())) {
    const auto key = [](const api::Pod& p) {
      return std::pair(p.metadata.namespace_, std::string_view(p.metadata.name));
    };
    const auto it =
        std::ranges::lower_bound(node->pods, key(pod), {}, [&](const PodPtr& p) { return key(*p); });
    if (it != node->pods.end() && (*it)->metadata.uid == pod.metadata.uid) return *it;
  }
  return std::make_shared<api::Pod>(pod);
}

void SchedulerNodeFit::ask_without(const api::Pod& pod) {
  asked_->state = model_.ask_without(known(pod));
  asked_->asked = model_.asked();
  asked_->out = true;
  asked_->refused = asked_->state == nullptr;
}

/// What the pod has on its own node concerns no other one, unless a rule reaches over nodes.
void SchedulerNodeFit::ask(const api::Pod& pod) {
  asked_ = std::make_unique<Asked>(Asked{.pod = &pod,
                                         .uid = pod.metadata.uid,
                                         .version = pod.metadata.resource_version,
                                         .home = model_.nodes().find(pod.spec.node_name.view())});
  if (!reaches_over_nodes(pod)) {
    asked_->state = model_.ask(pod);
    asked_->asked = model_.asked();
    if (asked_->state != nullptr && !asked_->state->reaches_over_rows()) return;
  }
  ask_without(pod);
}

bool SchedulerNodeFit::fits(const api::Pod& pod, const NodeView& node) {
  if (!asked_ || !asked_->is_of(pod) || (asked_->state != nullptr && asked_->asked != model_.asked()))
    ask(pod);
  const Row row = row_of(node);
  if (row == scheduling::kNoRow) return false;
  if (row == asked_->home && !asked_->out) ask_without(pod);
  return !asked_->refused && asked_->state->judge(row) == scheduling::kPass;
}

/// Of a pod that has been taken out.
const NodeView* SchedulerNodeFit::best(const api::Pod& pod, const Snapshot& snapshot) {
  scheduling::ClassState* const state = model_.ask(pod);
  if (state == nullptr || state->feasible() == 0) return nullptr;
  const scheduling::NodeTable& table = model_.nodes();
  const NodeView* best = nullptr;
  std::int32_t most = 0;
  for (const NodeView& node : snapshot.nodes()) {
    if (node.node->metadata.name == pod.spec.node_name.view()) continue;
    const Row row = table.find(node.node->metadata.name);
    if (row == scheduling::kNoRow || state->verdict(row) != scheduling::kPass) continue;
    const std::int32_t score = state->score(row);
    if (best != nullptr && score <= most) continue;
    best = &node;
    most = score;
  }
  return best;
}

const NodeView* SchedulerNodeFit::destination(const api::Pod& pod, const Snapshot& snapshot) {
  const SchedulerModel::Without without(model_, {known(pod)});
  return best(pod, snapshot);
}

std::vector<const NodeView*> SchedulerNodeFit::destinations(std::span<const PodPtr> pods,
                                                            const Snapshot& snapshot) {
  std::vector<const NodeView*> all;
  all.reserve(pods.size());
  SchedulerModel::Without without(model_, {pods.begin(), pods.end()});
  for (const PodPtr& pod : pods) {
    all.push_back(best(*pod, snapshot));
    if (all.back() != nullptr) without.assume(pod, Symbol(all.back()->node->metadata.name));
  }
  return all;
}

}  // namespace koord::descheduler
