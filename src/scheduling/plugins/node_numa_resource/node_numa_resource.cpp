// NodeNUMAResource: pods get CPUs of their own and all they ask for from the same memory nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "scheduling/plugin/held_verdicts.hpp"
#include "scheduling/plugin/numa_place.hpp"
#include "scheduling/plugins/node_numa_resource/args.hpp"
#include "scheduling/plugins/node_numa_resource/describe.hpp"
#include "scheduling/plugins/node_numa_resource/ways.hpp"
#include "scheduling/plugins/node_numa_resource/written.hpp"

namespace koord::scheduling {

namespace node_numa_resource {
namespace {

constexpr const char* kTooFew = "not enough cpus available to satisfy request";
constexpr const char* kNotThere =
    "pod has a nominated reservation but cannot be allocated within its NUMA scope";

struct State final : PodState {
  State(Demand asked, VerdictTable& verdicts, PluginIndex plugin)
      : demand(std::move(asked)), reasons(verdicts, plugin) {}
  std::size_t bytes() const override { return sizeof *this + 512 * reasons.size(); }

  Demand demand;
  std::shared_ptr<NumaShape> shape;  // nullptr: nobody has a say about memory nodes
  std::vector<NumaHintList> more;    // of the pod that is asked about now, besides its class's
  HeldVerdicts reasons;
};

/// Maybe for the pod that is asked about.
bool keeps_room(const api::Pod& pod) {
  return is_placeholder(pod) || pod.metadata.labels.contains(api::kOperatingModeLabel);
}

/// In the words for what a reservation has too little of.
std::string of_reservation(std::string_view why) { return fmt::format("Reservation(s) {}", why); }

/// What goes into the pod with its binding.
struct Written final : PodState {
  std::string status, spec;  // spec: empty where the pod says it
  bool binds = false;
};

/// What follows from the pod and the node, whatever is left there.
struct Setting {
  bool concerned = false;  // else the pod gets nothing here
  NumaPolicy policy = NumaPolicy::none;
  Room::Binding binding;
};

/// What the pod is to get there.
struct Plan {
  Setting setting;
  NumaMask nodes = 0;
};

class NodeNUMAResource final : public Plugin,
                               public FilterPlugin,
                               public PreFilterPlugin,
                               public ScorePlugin,
                               public PreScorePlugin,
                               public NumaHintPlugin,
                               public NumaDecider,
                               public RoomJudge,
                               public ReservePlugin,
                               public PreBindPlugin,
                               public PreBindReservationPlugin,
                               public EventPlugin,
                               public ServicePlugin {
 public:
  NodeNUMAResource(const NodeNUMAResourceArgs& args, const PluginContext& context)
      : context_(context),
        numa_(context.shared.get<NumaNodes>(context)),
        default_policy_(parse_bind_policy(*args.default_cpu_bind_policy)),
        default_strategy_(args.numa_scoring_strategy->type == "MostAllocated"
                              ? ZoneStrategy::most_allocated
                              : ZoneStrategy::least_allocated),
        scorer_(strategy(*args.scoring_strategy), {}),
        // As in Koordinator, by the resources of the other strategy.
        zone_scorer_(strategy(*args.numa_scoring_strategy), {}),
        mismatch_(intern("node(s) NUMA Topology policy not match", true)),
        not_whole_(intern("the requested CPUs must be integer", true)),
        no_cpus_(intern("node(s) invalid CPU Topology", true)),
        half_cores_(intern("node(s) requested cpus not multiple cpus per core", true)),
        conflict_(intern("node(s) cpu bind policy conflicts with pod's required cpu bind policy", true)),
        wrong_ratio_(intern("node(s) invalid CPU amplification ratio", true)),
        amplified_(intern("Insufficient amplified cpu", false)),
        no_zones_(intern("node(s) missing NUMA resources", true)),
        no_hints_(intern("node(s) Insufficient NUMA Node resources", false)) {
    context.shared.get<RoomJudges>().add(context.numa_hints, *this);
    context.shared.get<NumaDeciders>().add(context.numa_hints, *this);
    for (const KoordinatorScoring::Resource& each : args.scoring_strategy->resources)
      scored_.resources.push_back({Symbol(each.name), context.nodes.keep_resource(each.name),
                                   is_scalar_resource(each.name), each.weight});
    events_ =
        numa_.topologies().events(ObjectAction::add, ObjectAction::update, ObjectAction::remove) |
        events_of(EventKind::node_add, EventKind::node_allocatable, EventKind::node_label,
                  EventKind::node_annotation, EventKind::assigned_pod_add, EventKind::assigned_pod_delete,
                  EventKind::assigned_pod_scale_down, EventKind::assigned_pod_update,
                  EventKind::own_pod_label, EventKind::own_pod_scale_down, EventKind::own_pod_update);
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    sign_demand(pod, signature);
    return true;
  }

  Depends filter_depends() const override { return Depends::pods; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override {
    auto state = make_state(pod);
    FilterPlugin::Prepared prepared;
    prepared.rejected = state->demand.rejected;
    prepared.code = state->demand.code;
    prepared.skip = state->demand.none() && !state->demand.is_rejected();
    prepared.state = std::move(state);
    return prepared;
  }
  void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    auto& s = *static_cast<State*>(state);
    const bool asks = asks_itself(s.demand);
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = !asks && numa_.is_plain(rows[i]) ? kPass : filter_view(state, nodes, NodeView(nodes, rows[i]));
  }
  VerdictId filter_view(PodState* state, const NodeTable&, const NodeView& view) const override {
    const NumaNodes::OfRow& of = numa_.of(view.row());
    const Demand& demand = static_cast<State*>(state)->demand;
    if (!asks_itself(demand) && of.node.plain()) return kPass;
    Plan plan;
    return judge(*static_cast<State*>(state), view, Ways(of.node, of.ledger, view), false, plan);
  }

  Depends score_depends() const override { return Depends::pods; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override {
    auto state = make_state(pod);
    const bool skip = state->demand.none() || state->demand.is_rejected();
    return {std::move(state), skip};
  }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = score_view(state, nodes, NodeView(nodes, rows[i]));
  }
  std::int32_t score_view(PodState* state, const NodeTable&, const NodeView& view) const override {
    return weigh(*static_cast<State*>(state), view);
  }

  std::unique_ptr<PodState> prepare_numa_hints(const PodInfo& pod) override {
    auto state = std::make_unique<State>(demand_of(pod), context_.verdicts, context_.index);
    if (state->demand.none() || state->demand.is_rejected()) return nullptr;
    return state;
  }
  void numa_hints(PodState& state, const NodeView& view, std::vector<NumaHintList>& out) const override {
    const Demand& demand = static_cast<State&>(state).demand;
    const NumaNode& node = numa_.of(view.row()).node;
    const Setting setting = setting_of(demand, node);
    const Ways ways(node, numa_.of(view.row()).ledger, view);
    std::vector<Room> rooms;
    if (ways.ways().size() > 1 || !ways.ways().front().reservation.empty())
      for (const Ways::Way& way : ways.ways()) rooms.push_back(room_of(way, node, demand, setting));
    Room(node, ways.all(), demand, setting.binding)
        .hints(zone_scorer_, scored_, setting.policy == NumaPolicy::restricted, rooms, out);
  }

  std::unique_ptr<PodState> prepare_place(const PodInfo& pod) override { return prepare_rooms(pod); }
  std::optional<NumaMask> place(PodState& state, const NodeView& view) const override {
    auto& s = static_cast<State&>(state);
    const NumaNodes::OfRow& of = numa_.of(view.row());
    const NumaPolicy policy = setting_of(s.demand, of.node).policy;
    if (policy == NumaPolicy::none || s.demand.designated || of.node.zones.zones.empty()) return 0;
    const NumaChoice& choice = choose(s, of.node, Ways(of.node, of.ledger, view).all(), policy, view);
    return choice.admitted ? std::optional(choice.nodes) : std::nullopt;
  }

  bool may_bind(PodState& state) const override {
    return static_cast<State&>(state).demand.policy != NumaPolicy::none || numa_.have_policies();
  }
  bool may_refuse(PodState& state, Row row) const override {
    const auto& demand = static_cast<State&>(state).demand;
    return !demand.designated && is_strict(setting_of(demand, numa_.of(row).node).policy);
  }
  NumaMask nodes(Row row) const override { return numa_.of(row).node.zones.all(); }
  std::optional<NumaMask> place_with(PodState& state, const NodeView& view,
                                     std::span<const NumaHintList> more,
                                     std::vector<std::string>& why) const override {
    auto& s = static_cast<State&>(state);
    const NumaNodes::OfRow& of = numa_.of(view.row());
    const NumaPolicy policy = setting_of(s.demand, of.node).policy;
    if (policy == NumaPolicy::none || s.demand.designated || of.node.zones.zones.empty()) return 0;
    s.more.assign(more.begin(), more.end());
    const NumaChoice& choice = choose(s, of.node, Ways(of.node, of.ledger, view).all(), policy, view);
    s.more.clear();
    if (choice.admitted) return choice.nodes;
    why = choice.reasons;
    return std::nullopt;
  }

  std::unique_ptr<PodState> prepare_rooms(const PodInfo& pod) override {
    auto state = make_state(pod);
    if (state->demand.none() || state->demand.is_rejected()) return nullptr;
    return state;
  }
  bool serves(PodState& state, const NodeView& view, std::string_view reservation) const override {
    auto& s = static_cast<State&>(state);
    const NumaNodes::OfRow& of = numa_.of(view.row());
    if (!asks_itself(s.demand) && of.node.plain()) return true;
    if (!reservation.empty() && Ways::leaves_out(of.ledger, view, reservation)) return false;
    const Ways ways(of.node, of.ledger, view);
    const Ways::Way* const way = reservation.empty() ? &ways.beside() : ways.of(reservation);
    Plan plan;
    if (way == nullptr) return true;
    if (judge(s, view, ways, false, plan) != kPass || !plan.setting.concerned) return true;
    return room_of(*way, of.node, s.demand, plan.setting).lacks(plan.nodes).empty();
  }

  Status reserve(PodAttempt& attempt) override;
  void unreserve(PodAttempt& attempt) override {
    if (attempt.kept(context_.index) == nullptr) return;
    numa_.give(attempt.row, attempt.pod, nullptr);
    attempt.keep(context_.index, nullptr);
    attempt.pod.kept.put(std::shared_ptr<const NumaPlace>());  // others may be asked before this one
  }
  std::shared_ptr<PreBindWork> pre_bind(PodAttempt&) override { return nullptr; }
  /// What another attempt has left there, or somebody wrote, goes where nothing is given: bound, it would
  /// count.
  void change_pod(PodAttempt& attempt, PodChanges& changes) override {
    const auto* const written = static_cast<const Written*>(attempt.kept(context_.index));
    if (written == nullptr) {
      if (attempt.pod.pod->metadata.annotations.contains(api::ResourceStatus::kAnnotation))
        changes.removed_annotations.emplace_back(api::ResourceStatus::kAnnotation);
      return;
    }
    changes.annotations[api::ResourceStatus::kAnnotation] = written->status;
    if (!written->spec.empty()) changes.annotations[api::ResourceSpec::kAnnotation] = written->spec;
  }
  /// The pod that stands for it has its template's annotations, too: what counted goes into its own.
  void change_reservation(PodAttempt& attempt, PodChanges& changes) override {
    change_pod(attempt, changes);
    const auto* const written = static_cast<const Written*>(attempt.kept(context_.index));
    if (written != nullptr && written->binds && written->spec.empty())
      changes.annotations[api::ResourceSpec::kAnnotation] =
          api::value_or(attempt.pod.pod->metadata.annotations, api::ResourceSpec::kAnnotation);
  }

  EventMask events() const override { return events_; }
  /// The original tries again whenever any pod goes or any topology changes; here when something has changed
  /// of a node that takes the pod now.
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    std::string_view node;
    switch (event.kind) {
      case EventKind::own_pod_label:
      case EventKind::own_pod_scale_down:
      case EventKind::own_pod_update: return true;
      case EventKind::assigned_pod_add: return keeps_room(*event.new_pod);
      case EventKind::node_add:
      case EventKind::node_allocatable:
      case EventKind::node_label:
      case EventKind::node_annotation: node = event.new_node->metadata.name; break;
      case EventKind::assigned_pod_delete:
      case EventKind::assigned_pod_scale_down:
      case EventKind::assigned_pod_update: node = event.old_pod->spec.node_name.view(); break;
      default:
        node = static_cast<const api::NodeResourceTopology*>(event.new_object != nullptr ? event.new_object
                                                                                         : event.old_object)
                   ->metadata.name;
    }
    if (node.empty()) return true;  // it was assumed there
    const Row row = context_.nodes.find(node);
    if (row == kNoRow || !context_.nodes.node(row)) return false;
    const NumaNodes::OfRow& of = numa_.of(row);
    // What it keeps may be for the pod.
    if (std::ranges::any_of(of.ledger.holders(), [](const auto& each) { return keeps_room(*each.pod->pod); }))
      return true;
    const auto state = make_state(pod);
    const NodeView view(context_.nodes, row);
    Plan plan;
    return !state->demand.is_rejected() &&
           judge(*state, view, Ways(of.node, of.ledger, view), false, plan) == kPass;
  }

  std::vector<std::string_view> service_paths() const override { return {"/nodes/:nodeName"}; }
  std::optional<ServiceAnswer> serve(const ServiceRequest& request) const override {
    constexpr std::string_view kNode = "/nodes/";
    if (!request.path.starts_with(kNode)) return std::nullopt;
    const std::string_view name = std::string_view(request.path).substr(kNode.size());
    const Row row = context_.nodes.find(name);
    if (row == kNoRow || !context_.nodes.node(row))
      return service_error(500, fmt::format("node \"{}\" not found", name));
    const NumaNodes::OfRow& of = numa_.of(row);
    if (!of.node.has_cpus())
      return service_error(500, "invalid topology, please check the NodeResourceTopology object");
    return ServiceAnswer{200, describe(of, name)};
  }

 private:
  static ResourceScorer::Strategy strategy(const KoordinatorScoring& scoring) {
    return scoring.type == "MostAllocated" ? ResourceScorer::Strategy::most_allocated
                                           : ResourceScorer::Strategy::least_allocated;
  }
  VerdictId intern(std::string reason, bool unresolvable) const {
    return context_.verdicts.intern({context_.index, unresolvable, {std::move(reason)}});
  }
  Demand demand_of(const PodInfo& pod) const {
    return read_demand(pod, context_.nodes.resources(), default_policy_);
  }
  std::unique_ptr<State> make_state(const PodInfo& pod) const { return make_state(pod, demand_of(pod)); }
  std::unique_ptr<State> make_state(const PodInfo& pod, Demand demand) const {
    auto state = std::make_unique<State>(std::move(demand), context_.verdicts, context_.index);
    if (!state->demand.none() && !state->demand.is_rejected())
      state->shape = context_.numa_hints->shape(pod, context_.nodes);
    return state;
  }
  /// It wants something of its own, whatever the node is like.
  static bool asks_itself(const Demand& demand) {
    return demand.binds || demand.policy != NumaPolicy::none || demand.designated;
  }
  static Setting setting_of(const Demand& demand, const NumaNode& node) {
    Setting setting;
    setting.policy = demand.policy != NumaPolicy::none ? demand.policy : node.policy;
    setting.binding.cpus = demand.binds || (demand.cpu > 0 && node.bind != BindPolicy::none);
    const BindPolicy required = demand.required != BindPolicy::none ? demand.required : node.bind;
    setting.binding.required = required != BindPolicy::none;
    setting.binding.policy = setting.binding.required ? required : demand.preferred;
    setting.concerned = setting.binding.cpus || setting.policy != NumaPolicy::none;
    return setting;
  }
  static Room room_of(const Ways::Way& way, const NumaNode& node, const Demand& demand,
                      const Setting& setting) {
    return {node, *way.ledger, demand, setting.binding, &way.kept};
  }
  void open_up(const PodInfo& pod, const Ledger& ledger, NodeView& view) const;
  std::optional<VerdictId> lacks_amplified(const Demand& demand, const NumaNode& node, const Ledger& ledger,
                                           bool bound, const NodeView& view) const;
  /// Of one that had memory nodes, none of which the machine has.
  VerdictId lacks_zones(State& state, const NumaNode& node) const;
  const NumaChoice& choose(State& state, const NumaNode& node, const Ledger& ledger, NumaPolicy policy,
                           const NodeView& view) const;
  /// `reserved`: the pod itself counts on the row.
  VerdictId judge(State& state, const NodeView& view, const Ways& ways, bool reserved, Plan& plan) const;
  std::int32_t weigh(State& state, const NodeView& view) const;

  PluginContext context_;
  NumaNodes& numa_;
  BindPolicy default_policy_;
  ZoneStrategy default_strategy_;
  ResourceScorer scorer_, zone_scorer_;
  ScoredResources scored_;
  VerdictId mismatch_, not_whole_, no_cpus_, half_cores_, conflict_, wrong_ratio_, amplified_, no_zones_,
      no_hints_;
  EventMask events_;
  mutable NumaChoice choice_;  // where no provider has a say
  // Of what is scored; reused.
  mutable std::array<std::vector<std::int64_t>, 3> scratch_;
};

/// A node that is amplified has less for whole CPUs than it seems, and what is bound already counts for more.
std::optional<VerdictId> NodeNUMAResource::lacks_amplified(const Demand& demand, const NumaNode& node,
                                                           const Ledger& ledger, bool bound,
                                                           const NodeView& view) const {
  if (demand.cpu == 0) return {};
  if (node.ratio_is_wrong) return wrong_ratio_;
  if (node.cpu_ratio <= 1) return {};
  if (node.topology != nullptr && !node.has_cpus()) return no_cpus_;
  const std::int64_t asked = bound ? amplified(demand.cpu, node.cpu_ratio) : demand.cpu;
  const std::int64_t bound_there = 1000 * std::int64_t{ledger.taken().size()};
  std::int64_t used = view.used(kCpu);
  if (used >= bound_there) used += amplified(bound_there, node.cpu_ratio) - bound_there;
  if (asked > view.allocatable(kCpu) - used) return amplified_;
  return {};
}

VerdictId NodeNUMAResource::lacks_zones(State& state, const NumaNode& node) const {
  std::vector<std::string> reasons;
  for (const auto& [name, amount] : state.demand.amounts)
    if (node.zones.resource(name) != ZoneAmounts::kNowhere)
      reasons.push_back(fmt::format("Insufficient NUMA {}", name.view()));
  return reasons.empty() ? kPass : state.reasons.verdict(std::move(reasons));
}

const NumaChoice& NodeNUMAResource::choose(State& state, const NumaNode& node, const Ledger& ledger,
                                           NumaPolicy policy, const NodeView& view) const {
  NumaQuestion question{.policy = policy, .all = node.zones.all(), .exclusive = state.demand.zones_apart};
  if (question.exclusive) {
    question.single = ledger.single();
    question.shared = ledger.shared();
  }
  if (state.more.empty() && state.shape != nullptr) return state.shape->on(view, question).choice;
  std::vector<NumaHintList> lists;
  if (state.shape != nullptr) lists = state.shape->on(view, question).lists;
  lists.insert(lists.end(), state.more.begin(), state.more.end());
  return choice_ = choose_numa_nodes(question, lists);
}

/// As Reservation has chosen for the pod: those that are for it are out of its way.
void NodeNUMAResource::open_up(const PodInfo& pod, const Ledger& ledger, NodeView& view) const {
  const auto* const choice = pod.kept.find<const RoomChoice>();
  if (choice == nullptr || choice->open == nullptr) return;
  bool any = false;
  for (const OpenRooms::Room& room : choice->open->rooms)
    if (const Ledger::Holder* const holder = ledger.find(room.reservation)) {
      view.remove(*holder->pod);
      any = true;
    }
  if (any) view.slots().put(choice->open);
}

VerdictId NodeNUMAResource::judge(State& state, const NodeView& view, const Ways& ways, bool reserved,
                                  Plan& plan) const {
  const Demand& demand = state.demand;
  const NumaNode& node = numa_.of(view.row()).node;
  if (node.policy != NumaPolicy::none && demand.policy != NumaPolicy::none && node.policy != demand.policy)
    return mismatch_;
  const Ledger& ledger = ways.all();
  const Setting setting = plan.setting = setting_of(demand, node);
  const bool bound = setting.binding.cpus;
  if (bound && demand.cpu % 1000 != 0) return not_whole_;
  if (!demand.designated && !reserved)
    if (const auto lacks = lacks_amplified(demand, node, ledger, bound, view)) return *lacks;
  if (bound) {
    if (!node.has_cpus()) return no_cpus_;
    if (demand.required != BindPolicy::none && node.bind != BindPolicy::none && demand.required != node.bind)
      return conflict_;
    const BindPolicy required = node.bind != BindPolicy::none ? node.bind : demand.required;
    if (required == BindPolicy::full_pcpus && demand.cpus() % node.topology->cpus->cpus_per_core() != 0)
      return half_cores_;
  }
  if (!setting.concerned) return kPass;
  bool proven = false;
  if (setting.policy != NumaPolicy::none) {
    if (node.zones.zones.empty()) return no_zones_;
    if (setting.binding.required && !node.has_cpus()) return no_hints_;
    if (demand.designated) {
      for (const Given::Zone& zone : demand.designated->zones)
        if (node.zones.zone(zone.id) != ZoneAmounts::kNowhere) plan.nodes |= NumaMask{1} << zone.id;
      if (plan.nodes == 0 && !demand.designated->zones.empty())
        if (const VerdictId id = lacks_zones(state, node); id != kPass) return id;
    } else {
      const NumaChoice& choice = choose(state, node, ledger, setting.policy, view);
      if (!choice.admitted) return state.reasons.verdict(choice.reasons);
      plan.nodes = choice.nodes;
      // What is preferred is among this plugin's own hints.
      proven = setting.policy != NumaPolicy::best_effort && plan.nodes != 0;
    }
  }
  if (proven) return kPass;
  std::vector<std::string> reasons;
  for (const Ways::Way& way : ways.ways()) {
    auto lacks = room_of(way, node, demand, setting).lacks(plan.nodes);
    if (lacks.empty()) return kPass;
    if (!ways.required()) reasons.clear();
    for (std::string& why : lacks) reasons.push_back(ways.required() ? of_reservation(why) : std::move(why));
  }
  return state.reasons.verdict(std::move(reasons));
}

std::int32_t NodeNUMAResource::weigh(State& state, const NodeView& view) const {
  const Demand& demand = state.demand;
  const NumaNode& node = numa_.of(view.row()).node;
  const Setting setting = setting_of(demand, node);
  const bool bound = setting.binding.cpus;
  if ((bound && !node.has_cpus()) || node.zone_ratio_is_wrong) return 0;
  // As in Koordinator: how much more whole CPUs count is asked of the CPUs that are reported.
  if (setting.policy == NumaPolicy::none && node.zone_cpu_ratio > 1 && demand.cpu > 0 &&
      node.topology != nullptr && !node.has_cpus())
    return 0;
  const Ways ways(node, numa_.of(view.row()).ledger, view);
  const Ledger& ledger = ways.all();
  const double ratio = node.zone_cpu_ratio;
  std::int64_t bound_there = 1000 * std::int64_t{ledger.taken().size()};

  std::optional<Room> room;
  std::vector<Given::Zone> shares;
  if (setting.policy != NumaPolicy::none) {
    if (node.zones.zones.empty()) return 0;
    NumaMask nodes = 0;
    // Best effort chooses its memory nodes when the node is chosen.
    if (setting.policy != NumaPolicy::best_effort && !demand.designated) {
      const NumaChoice& choice = choose(state, node, ledger, setting.policy, view);
      if (!choice.admitted) return 0;
      nodes = choice.nodes;
    }
    const auto way = std::ranges::find_if(ways.ways(), [&](const Ways::Way& each) {
      return room.emplace(room_of(each, node, demand, setting)).lacks(nodes).empty();
    });
    if (way == ways.ways().end()) return 0;
    if (nodes != 0) shares = room->shares(nodes);
    bound_there = 1000 * std::int64_t{way->ledger->taken().size()};
    // As in Koordinator, what it gets of a reservation counts with what is taken.
    if (bound && !way->kept.cpus.empty())
      if (const auto cpus = room->pick(shares, node.strategy.value_or(default_strategy_)))
        bound_there += 1000 * std::int64_t{(*cpus & way->kept.cpus).size()};
  }
  auto& [used, capacity, weights] = scratch_;
  for (auto* each : {&used, &capacity, &weights}) each->clear();
  for (const ScoredResources::Resource& each : scored_.resources) {
    const auto asked = std::ranges::find(demand.amounts, each.name, &std::pair<Symbol, std::int64_t>::first);
    std::int64_t amount = asked != demand.amounts.end() ? asked->second : 0;
    if (amount == 0 && each.scalar) continue;
    const bool cpu = each.id == kCpu;
    if (cpu && bound) amount = amplified(amount, ratio);
    std::int64_t there = 0, taken = 0;
    if (!shares.empty()) {
      const std::size_t resource = node.zones.resource(each.name);
      for (const Given::Zone& share : shares) {
        if (resource == ZoneAmounts::kNowhere) break;
        const std::size_t zone = node.zones.zone(share.id);
        there += room->total(zone, resource);
        taken += std::max<std::int64_t>(room->taken(zone, resource), 0);
      }
    } else {
      there = view.allocatable(each.id);
      taken = view.used(each.id);
      if (cpu && setting.policy == NumaPolicy::none && ratio > 1 && demand.cpu > 0)
        taken += amplified(bound_there, ratio) - bound_there;
    }
    if (cpu && bound && setting.policy != NumaPolicy::none) taken = amplified(bound_there, ratio);
    if (there == 0) continue;
    std::int64_t sum = 0;
    if (__builtin_add_overflow(taken, amount, &sum)) sum = std::numeric_limits<std::int64_t>::max();
    used.push_back(sum);
    capacity.push_back(there);
    weights.push_back(each.weight);
  }
  return used.empty() ? 0 : scorer_.score(used, capacity, weights);
}

Status NodeNUMAResource::reserve(PodAttempt& attempt) {
  const NumaNode& node = numa_.of(attempt.row).node;
  Demand asked = demand_of(attempt.pod);
  if (asked.none() || asked.is_rejected() || (!asks_itself(asked) && node.plain())) return {};
  const auto state = make_state(attempt.pod, std::move(asked));
  state->more = context_.shared.get<NumaDeciders>().of_pod(context_.numa_hints, attempt);
  const Demand& demand = state->demand;
  const Ledger& ledger = numa_.of(attempt.row).ledger;
  NodeView view(context_.nodes, attempt.row);
  open_up(attempt.pod, ledger, view);
  const Ways ways(node, ledger, view);
  Plan plan;
  if (const VerdictId id = judge(*state, view, ways, true, plan); id != kPass) {
    const Verdict& verdict = context_.verdicts[id];
    return {verdict.unresolvable ? StatusCode::unresolvable : StatusCode::unschedulable,
            fmt::format("{}", fmt::join(verdict.reasons, ", "))};
  }
  if (!plan.setting.concerned) return {};
  const auto* const choice = attempt.pod.kept.find<const RoomChoice>();
  const Ways::Way* way = choice != nullptr ? ways.of(choice->reservation) : nullptr;
  const bool there = way != nullptr;
  if (!there) way = ways.all_at_once() ? &ways.ways().front() : &ways.beside();
  const Room room = room_of(*way, node, demand, plan.setting);
  if (auto lacks = room.lacks(plan.nodes); !lacks.empty()) {
    if (there && !ways.required()) return {StatusCode::unschedulable, kNotThere};
    if (there) std::ranges::transform(lacks, lacks.begin(), of_reservation);
    return {StatusCode::unschedulable, fmt::format("{}", fmt::join(lacks, ", "))};
  }
  auto given = std::make_shared<Given>();
  given->exclusive = demand.written;
  if (plan.nodes != 0) given->zones = room.shares(plan.nodes);
  if (plan.setting.binding.cpus) {
    auto cpus = room.pick(given->zones, node.strategy.value_or(default_strategy_));
    if (!cpus) return {StatusCode::unschedulable, kTooFew};
    given->cpus = std::move(*cpus);
  }
  auto written = std::make_unique<Written>();
  written->status = status_text(*attempt.pod.pod, *given);
  written->binds = plan.setting.binding.cpus;
  if (plan.setting.binding.cpus) written->spec = spec_text(*attempt.pod.pod, plan.setting.binding);
  attempt.keep(context_.index, std::move(written));
  if (plan.nodes != 0) attempt.pod.kept.put(std::make_shared<const NumaPlace>(NumaPlace{plan.nodes}));
  if (!given->cpus.empty() || !given->zones.empty()) numa_.give(attempt.row, attempt.pod, std::move(given));
  return {};
}

}  // namespace
}  // namespace node_numa_resource

extern const PluginEntry kNodeNUMAResource{
    .name = "NodeNUMAResource",
    .args = &args_type<node_numa_resource::NodeNUMAResourceArgs>,
    .make = &make_with<node_numa_resource::NodeNUMAResource, node_numa_resource::NodeNUMAResourceArgs>};

}  // namespace koord::scheduling
