// Coscheduling: what is Koordinator's at the points of the cycle; see coscheduling.hpp.
#include "scheduling/plugins/coscheduling/coscheduling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/quota.hpp"
#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/network_topology.hpp"
#include "scheduling/plugins/coscheduling/control/controller.hpp"
#include "scheduling/plugins/coscheduling/describe.hpp"
#include "scheduling/plugins/coscheduling/topology/rank.hpp"

namespace koord::scheduling {

namespace coscheduling {

namespace {

/// In Koordinator's words.
constexpr std::string_view kNoTopology = "no cluster network topology";
/// Of a gate of koord's.
constexpr std::string_view kBreaksBudgets = "JobPreemptionIgnoresDisruptionBudgets";

bool may_stay(const PodInfo& victim, const PodInfo&) {
  const api::ObjectMeta& meta = victim.pod->metadata;
  return !api::is_preemptible(meta) || api::value_or(meta.labels, api::kDisablePreemptibleLabel) == "true";
}

}  // namespace

Coscheduling::Coscheduling(const CoschedulingArgs& args, const PluginContext& context)
    : Coscheduling(context.shared.get<KoordinatorBook>(context, args), args, context) {
  aware_ = args.aware_network_topology.value_or(false);
  writes_topology_ = context.shared.get<NetworkTopologyUse>().enabled;
  if (!aware_ || !writes_topology_) return;
  topology_ = &context.shared.get<topology::NetworkTopology>(context);
  gathering_.emplace(*topology_, context);
  topology_->on_change([&book = book_] { book.topology_changed(); });
}

/// By the network's topology.
std::optional<Coscheduling::Gathered> Coscheduling::gather(Group& group, Member& leader, Placements& places,
                                                           Costs costs) {
  const api::NetworkTopologySpec* const spec = aware_ ? book_.topology(group) : nullptr;
  if (spec == nullptr) return std::nullopt;
  if (topology_ != nullptr && topology_->there())
    return gathering_->place(*spec, book_.pending(group), leader, places, costs);
  Diagnosis why{.nodes = nodes_.nodes(), .prefilter_message = std::string(kNoTopology)};
  if (topology_ != nullptr && !topology_->wrong().empty())
    why.prefilter_message += fmt::format(": ClusterNetworkTopology {}: {}",
                                         api::ClusterNetworkTopology::kName, topology_->wrong());
  Gathered none{{StatusCode::unschedulable, fit_error(why)}, &leader};
  none.hopeless = true;
  places.refuse(*leader.pod, std::move(why));
  return none;
}

Coscheduling::Coscheduling(KoordinatorBook& book, const CoschedulingArgs& args, const PluginContext& context)
    : GangPlugin(book, context),
      book_(book),
      nodes_(context.nodes),
      preempts_(args.enable_preemption.value_or(false)),
      preemptor_(context, preemption::JobRule{.breaks_budgets = context.gate(kBreaksBudgets)}, &may_stay) {}

bool Coscheduling::may_enqueue(const PodInfo& pod) const {
  return preemptor_.may_enqueue(pod) && GangPlugin::may_enqueue(pod);
}

// The score

struct Coscheduling::Ranks final : PodState {
  std::vector<std::int64_t> by_row;
};

std::unique_ptr<PodState> Coscheduling::prepare_cross_node_score(const PodInfo&) {
  return std::make_unique<Ranks>();
}

bool Coscheduling::may_score(PodState&, const PodInfo& pod) {
  return topology_ != nullptr && topology_->there() && !topology::selector_of(pod.pod->metadata).empty();
}

bool Coscheduling::pre_score(PodState& state, const PodInfo& pod, const NodeTable& nodes,
                             std::span<const Row> feasible) {
  topology::rank(*topology_, topology::selector_of(pod.pod->metadata), nodes, feasible,
                 static_cast<Ranks&>(state).by_row);
  return true;
}

void Coscheduling::score(PodState& state, const NodeTable&, std::span<const Row> rows,
                         std::span<std::int64_t> out) const {
  const std::vector<std::int64_t>& ranks = static_cast<const Ranks&>(state).by_row;
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = ranks[rows[i]];
}

/// As kube-scheduler's DefaultNormalizeScore, reversed.
void Coscheduling::normalize(PodState&, std::span<const Row>, std::span<std::int64_t> scores) const {
  const std::int64_t last = std::ranges::max(scores);
  for (std::int64_t& score : scores) score = last == 0 ? 100 : 100 - 100 * score / last;
}

void Coscheduling::change_pod(PodAttempt& attempt, PodChanges& changes) {
  const Member* const member = book_.member(*attempt.pod.pod);
  if (member == nullptr) return;
  for (const std::string_view key : {api::kBindGangGroupId, api::kOldBindGangGroupId}) {
    if (member->decided > 1)
      changes.annotations[key] = member->gang->group->id;
    else if (attempt.pod.pod->metadata.annotations.contains(key))
      changes.removed_annotations.emplace_back(key);
  }
  for (const std::string_view key : {api::kBindGangMemberCount, api::kOldBindGangMemberCount}) {
    if (member->decided > 1)
      changes.annotations[key] = std::to_string(member->decided);
    else if (attempt.pod.pod->metadata.annotations.contains(key))
      changes.removed_annotations.emplace_back(key);
  }
}

PostFilterResult Coscheduling::post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) {
  // Of reservations it is Reservation's to say.
  if (!preempts_ || is_placeholder(*attempt.pod.pod)) return {.status = {StatusCode::unschedulable, {}}};
  // Who does not admit it (its quota) would not with fewer pods on a node.
  const auto refuses = [&](const auto& p) { return (diagnosis.rejectors & mask_of(p.index)) != 0; };
  if (!diagnosis.prefilter_message.empty() && std::ranges::any_of(attempt.profile.admits, refuses))
    return {.status = {StatusCode::unschedulable, {}}};
  return preemptor_.make_room(attempt, diagnosis);
}

/// Of a pod that was tried by itself.
void Coscheduling::after_post_filter(const PodAttempt& attempt, const Diagnosis& diagnosis, const Status&) {
  const api::Pod& pod = *attempt.pod.pod;
  const Member* const member = book_.member(pod);
  if (member == nullptr || !is_held(*member) || !member->gang->strict) return;
  const Group& group = *member->gang->group;
  const RejectorKey key = book_.key(group);
  if (cycle_.waiting(key) == 0) return;
  Diagnosis nodes = diagnosis;
  nodes.postfilter_message.clear();
  cycle_.reject_all(key, book_.rejection(group, pod, fit_error(nodes), cycle_.waiting(key)),
                    Nomination::keep);
}

std::unique_ptr<PluginController> Coscheduling::make_controller(kube::InformerSet& informers,
                                                                kube::Client& client) {
  return coscheduling::make_controller(informers, client, writes_topology_);
}

std::optional<ServiceAnswer> Coscheduling::serve(const ServiceRequest& request) const {
  return describe(book_, request.path);
}

}  // namespace coscheduling

extern const PluginEntry kCoscheduling{
    .name = "Coscheduling",
    .args = &args_type<coscheduling::CoschedulingArgs>,
    .make = &make_with<coscheduling::Coscheduling, coscheduling::CoschedulingArgs>};

}  // namespace koord::scheduling
