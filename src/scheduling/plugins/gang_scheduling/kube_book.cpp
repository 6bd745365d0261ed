// KubeBook: see kube_book.hpp.
#include "scheduling/plugins/gang_scheduling/kube_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling::gang_scheduling {

namespace {

/// What a gang's name is made of; without a workload it is a PodGroup's.
struct Parts {
  std::string_view workload, group;
};

Parts parts_of(const Gang& gang) {
  const std::string_view name = gang.name;
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return {{}, name};
  const std::string_view rest = name.substr(slash + 1);
  return {name.substr(0, slash), rest.substr(0, rest.find('/'))};
}

/// Nothing that gangs follow from is another.
template <class T>
bool is_same(const T* before, const T* now) {
  return before != nullptr && now != nullptr && before->spec == now->spec &&
         before->metadata.uid == now->metadata.uid;
}

}  // namespace

/// What is said of a gang; `why` is not empty: nothing that can be used.
struct KubeBook::Terms {
  std::string why = {};
  std::shared_ptr<const void> object = {};  // which holds the others
  const api::ObjectMeta* meta = nullptr;
  const api::GangPolicy* gang = nullptr;
  std::string_view kind = {};
  std::string_view near = {};  // Gang::near
};

KubeBook::KubeBook(const PluginContext& context)
    : GangBook(context),
      workloads_(context.objects.watch<api::Workload>()),
      pod_groups_(context.objects.watch<api::KubePodGroup>()),
      early_pod_groups_(context.objects.watch<api::EarlyKubePodGroup>()),
      doors_(context.shared.get<gangs::Doors>()) {
  context.shared.get<gangs::Doors>().kubernetes = true;
  context.observe(*this);
  context.objects.watch<api::Workload>().on_change(
      [this](const api::Workload* before, const api::Workload* now) {
        if (is_same(before, now)) return;
        const api::ObjectMeta& meta = (now != nullptr ? now : before)->metadata;
        each_of(id_of(meta.namespace_.view(), meta.name + "/"), [this](Gang& gang) { changed_terms(gang); });
      });
  follow(context.objects.watch<api::KubePodGroup>());
  follow(context.objects.watch<api::EarlyKubePodGroup>());
}

template <class PodGroup>
void KubeBook::follow(ObjectStore<PodGroup>& groups) {
  groups.on_change([this](const PodGroup* before, const PodGroup* now) {
    if (is_same(before, now)) return;
    const api::ObjectMeta& meta = (now != nullptr ? now : before)->metadata;
    if (Gang* gang = find(id_of(meta.namespace_.view(), meta.name))) changed_terms(*gang);
  });
}

void KubeBook::node_changed(Row, const api::Node* before, const api::Node* now) {
  if (before != nullptr && now != nullptr && before->metadata.labels == now->metadata.labels) return;
  topology_changed();
}

std::optional<Symbol> KubeBook::gang_of(const api::Pod& pod) const {
  const api::WorkloadReference* ref = pod.spec.workload_ref.get();
  const api::PodSchedulingGroup* group = pod.spec.scheduling_group.get();
  if ((ref == nullptr && group == nullptr) || doors_.in_two(pod)) return std::nullopt;
  if (group != nullptr) return Symbol(group->pod_group_name);
  const std::string_view replica = ref->pod_group_replica_key;
  return Symbol(fmt::format("{}/{}{}{}", ref->name, ref->pod_group, replica.empty() ? "" : "/", replica));
}

template <class PodGroup>
KubeBook::Terms KubeBook::terms_of(std::shared_ptr<const PodGroup> found) {
  Terms said;
  said.kind = "PodGroup";
  said.gang = found->spec.scheduling_policy.gang.get();
  said.meta = &found->metadata;
  if (const auto* constraints = found->spec.scheduling_constraints.get();
      constraints != nullptr && !constraints->topology.empty())
    said.near = constraints->topology.front().key;
  if (said.gang == nullptr && !said.near.empty())
    said.why = fmt::format(
        "pod group \"{}\" asks for nodes that agree on the label \"{}\" "
        "(spec.schedulingConstraints.topology), which koord does for the policy \"gang\" alone",
        found->metadata.name, said.near);
  said.object = std::move(found);
  return said;
}

KubeBook::Terms KubeBook::terms_of(const Gang& gang) const {
  const auto [workload_name, group_name] = parts_of(gang);
  Terms said;
  if (workload_name.empty()) {
    if (auto found = pod_groups_.find(gang.ns, group_name)) return terms_of(std::move(found));
    if (auto found = early_pod_groups_.find(gang.ns, group_name)) return terms_of(std::move(found));
    said.kind = "PodGroup";
    said.why = fmt::format("waiting for pod's pod group \"{}\" to appear in scheduling queue", group_name);
    return said;
  }
  const auto found = workloads_.find(gang.ns, workload_name);
  said.kind = "Workload";
  if (!found) {
    said.why = fmt::format("waiting for pods's workload \"{}\" to appear in scheduling queue", workload_name);
    return said;
  }
  const auto& groups = found->spec.pod_groups;
  const auto group = std::ranges::find(groups, group_name, &api::WorkloadPodGroup::name);
  if (group == groups.end()) {
    said.why = fmt::format("pod group \"{}\" doesn't exist for a workload \"{}\"", group_name, workload_name);
    return said;
  }
  said.gang = group->policy.gang.get();
  said.meta = &found->metadata;
  said.object = found;
  return said;
}

void KubeBook::read(Gang& gang) {
  const Terms said = terms_of(gang);
  if (!said.why.empty()) {
    if (gang.known) forget_terms(gang, said.why);
    return;
  }
  gang.apart = said.gang == nullptr;
  gang.strict = !gang.apart;
  gang.min = gang.apart ? 0 : said.gang->min_count;
  gang.total = gang.min;
  gang.near = said.near;
  gang.wait = kWait;
  gang.policy = api::GangMatchPolicy::waiting_and_running;
  settled(gang, *said.meta, said.kind);
}

void KubeBook::read_terms(Gang& gang, const api::Pod&) { read(gang); }

void KubeBook::changed_terms(Gang& gang) {
  read(gang);
  if (!gang.pending.empty()) changed(*gang.group);
}

nanoseconds KubeBook::wait_of(Gang& gang) const {
  if (gang.deadline <= now()) gang.deadline = now() + kWait;
  return gang.deadline - now();
}

std::string KubeBook::lack(const Group&, const Member& member) const {
  const Gang& gang = *member.gang;
  if (!gang.known) return terms_of(gang).why;
  return fmt::format(
      "waiting for minCount pods from a gang to appear in scheduling queue: the gang {} has {} of {}",
      gang.id, gang.children, gang.min);
}

std::string KubeBook::rejection(const Group& group, const api::Pod& pod, std::string_view why,
                                std::size_t placed) const {
  return fmt::format("the gang {} has no room: for pod {} there is no node after {} others had one: {}",
                     group.id, text(placed_name(pod)), placed, why);
}

}  // namespace koord::scheduling::gang_scheduling
