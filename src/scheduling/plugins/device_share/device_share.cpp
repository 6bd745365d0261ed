// DeviceShare: pods get GPUs, RDMA and FPGA of the machine, or parts of them, and know which.
#include "scheduling/plugins/device_share/device_share.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/text.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugins/device_share/describe.hpp"
#include "scheduling/plugins/device_share/vendors/adapt.hpp"
#include "scheduling/plugins/device_share/vendors/node_lock.hpp"

namespace koord::scheduling {

namespace device_share {

namespace {

/// A class's demand is bound to so many shapes at once; a cluster with more kinds of machines binds anew.
constexpr std::size_t kMostShapes = 64;
/// So many nodes are told of.
constexpr std::size_t kExplained = 5;

/// Maybe for the pod that is asked about.
bool keeps_room(const api::Pod& pod) {
  return is_placeholder(pod) || pod.metadata.labels.contains(api::kOperatingModeLabel);
}

std::string of_reservation(std::string_view why) { return fmt::format("Reservation(s) {}", why); }

/// What goes into the pod with its binding.
struct Written final : PodState {
  std::shared_ptr<const Given> given;
  std::string text;
  PodPatch for_vendor;
};

/// What is designated, as this machine has it.
Result<std::optional<Given>> designated_on(const DeviceDemand& demand, const NodeDevices& devices,
                                           std::string_view node) {
  if (!demand.designated) return std::optional<Given>();
  auto filled = fill_memory(devices, *demand.designated);
  if (!filled)
    return Error(Code::invalid,
                 fmt::format("fillGPUTotalMem failed: {}, node: {}", filled.error().message(), node));
  return std::optional<Given>(*std::move(filled));
}

bool takes_over(const api::Pod& pod) {
  return is_placeholder(pod) &&
         api::value_or(pod.metadata.annotations, api::kReservePodPreAllocates) == "true";
}
/// Of the types of which the pods have devices whose room is taken over it gets these, all of them and no
/// others: who takes room over is Restricted.
Refusal allocate_over(const NodeDevices& devices, const BoundDemand& bound, Seen seen,
                      std::span<const Given::Device> taken, const DeviceScorer& scorer, Choice& choice) {
  seen.among = taken;
  if (const Refusal refusal = allocate(devices, bound, seen, &scorer, choice); refusal.refused())
    return refusal;
  for (const Given::Device& each : taken) {
    const std::size_t place = devices.shape->place(each.type, each.minor);
    if (place == kMostPlaces || (choice.of(each.type).mask >> place & 1U) == 0) return {Why::too_few_gpus};
  }
  return {};
}

}  // namespace

const BoundDemand& State::on(const std::shared_ptr<const DeviceShape>& shape) {
  if (const auto it = bound.find(shape.get()); it != bound.end()) return *it->second;
  if (bound.size() >= kMostShapes) bound.clear();
  return *(bound[shape.get()] = std::make_unique<const BoundDemand>(demand, shape));
}

DeviceShare::DeviceShare(const DeviceShareArgs& args, const PluginContext& context)
    : context_(context),
      devices_(context.shared.get<DeviceNodes>(context)),
      extended_(ExtendedResources::of(context)),
      scorer_(*args.scoring_strategy),
      templates_config_(*args.gpu_shared_resource_templates_config),
      templates_(context.objects.watch<api::ConfigMap>(), context.shared.get<Complaints>(),
                 templates_config_.config_map_namespace, templates_config_.config_map_name),
      unshared_(args.gpu_share_unsupported_models),
      aligns_(!args.disable_device_numa_topology_alignment),
      adapts_(context.gate("DevicePluginAdaption")),
      resizes_(context.gate("ResizePod")),
      no_isolation_(intern(std::string(kNoIsolationProvider), true)),
      template_events_(context.objects.watch<api::ConfigMap>().events(ObjectAction::add, ObjectAction::update,
                                                                      ObjectAction::remove)) {
  context.shared.get<RoomJudges>().add(context.numa_hints, *this);
  if (extended_ != nullptr)
    class_events_ = extended_->classes().events(ObjectAction::add, ObjectAction::update);
  events_ = template_events_ | class_events_ |
            devices_.objects().events(ObjectAction::add, ObjectAction::update, ObjectAction::remove) |
            events_of(EventKind::node_add, EventKind::node_label, EventKind::assigned_pod_add,
                      EventKind::assigned_pod_delete, EventKind::own_pod_label, EventKind::own_pod_scale_down,
                      EventKind::own_pod_update, EventKind::plugin_told);
  // After templates_ has read it.
  context.objects.watch<api::ConfigMap>().on_change([this](const api::ConfigMap*, const api::ConfigMap*) {
    if (std::exchange(marked_, templates_.version()) == templates_.version()) return;
    for (Row row = 0; row < context_.nodes.rows(); ++row)
      if (context_.nodes.node(row)) context_.nodes.mark(row);
  });
}

DeviceDemand DeviceShare::demand_of(const PodInfo& pod) const {
  return read_demand(pod, context_.nodes.resources(), rules());
}

std::vector<ResourceId> DeviceShare::vendors_of(const PodInfo& pod) const {
  return extended_ != nullptr ? vendor_resources(pod, context_.nodes.resources()) : std::vector<ResourceId>();
}

/// Where only some of them are, all are asked of the Device: more is held, not less.
bool DeviceShare::are_of_claims(const std::vector<ResourceId>& vendors, Row row) const {
  return !vendors.empty() &&
         std::ranges::all_of(vendors, [&](ResourceId id) { return extended_->is_devices(id, row); });
}

DeviceDemand DeviceShare::demand_on(const PodInfo& pod, Row row) const {
  const std::vector<ResourceId> vendors = vendors_of(pod);
  return are_of_claims(vendors, row) ? demand_of(without(pod, vendors)) : demand_of(pod);
}

State& DeviceShare::on_row(State& state, Row row) const {
  return are_of_claims(state.vendors, row) ? *state.beside_claims : state;
}

void DeviceShare::add_beside_claims(State& state, const PodInfo& pod) const {
  state.vendors = vendors_of(pod);
  if (state.vendors.empty()) return;
  state.beside_claims = make_state(pod, demand_of(without(pod, state.vendors)));
  state.beside_claims->answers = nullptr;  // the pod's others are no measure of it
}

State& DeviceShare::current(PodState& state) const {
  auto& s = static_cast<State&>(state);
  if (std::exchange(s.templates, templates_.version()) == templates_.version() || !s.demand.gpu.by_template)
    return s;
  match_templates(s.demand, rules());
  s.bound.clear();
  return s;
}

std::unique_ptr<State> DeviceShare::make_state(const PodInfo& pod) const {
  auto state = make_state(pod, demand_of(pod));
  if (!state->demand.none() && !state->demand.is_rejected()) add_beside_claims(*state, pod);
  return state;
}

std::unique_ptr<State> DeviceShare::make_state(const PodInfo& pod, DeviceDemand demand) const {
  auto state = std::make_unique<State>(std::move(demand), context_.verdicts, context_.index);
  state->templates = templates_.version();
  if (state->demand.none() || state->demand.is_rejected()) return state;
  state->takes_over = takes_over(*pod.pod);
  // Who decides is known once all plugins of the profile are made.
  NumaDecider* const decider =
      aligns_ ? context_.shared.get<NumaDeciders>().of(context_.numa_hints) : nullptr;
  if (decider != nullptr) state->for_decider = decider->prepare_place(pod);
  if (state->for_decider != nullptr) state->decider = decider;
  // Who is bound to memory nodes is by more than its devices.
  if (state->decider != nullptr || state->demand.designated) return state;
  Signature signature;
  sign(pod, signature);
  state->answers = answers_.of(signature.bytes());
  return state;
}

bool DeviceShare::sign(const PodInfo& pod, Signature& signature) const {
  sign_demand(pod, context_.nodes.resources(), signature);
  signature.add(static_cast<std::int64_t>(templates_.version()));
  signature.add(takes_over(*pod.pod) ? 1 : 0);
  return true;
}

// Where it may go

FilterPlugin::Prepared DeviceShare::prepare_filter(const PodInfo& pod) {
  auto state = make_state(pod);
  FilterPlugin::Prepared prepared;
  prepared.rejected = state->demand.rejected;
  prepared.code = state->demand.code;
  prepared.skip = state->demand.none() && !state->demand.is_rejected();
  prepared.state = std::move(state);
  return prepared;
}

void DeviceShare::filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
                         std::span<VerdictId> out) const {
  KeptAnswers* const answers = static_cast<State*>(state)->answers.get();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t* const kept = answers != nullptr ? answers->verdicts.find(nodes, rows[i]) : nullptr;
    out[i] = kept != nullptr ? *kept : filter_view(state, nodes, NodeView(nodes, rows[i]));
    if (kept == nullptr && answers != nullptr) answers->verdicts.put(nodes, rows[i], out[i]);
  }
}

VerdictId DeviceShare::filter_view(PodState* state, const NodeTable&, const NodeView& view) const {
  State& s = current(on_row(static_cast<State&>(*state), view.row()));
  if (s.demand.none()) return kPass;
  // Of a class that was prepared by other templates.
  if (s.demand.gpu.by_template && s.demand.gpu.templates.empty())
    return verdict({Why::no_matched_template, DeviceType::gpu});
  if (const VerdictId id = refuses_shares(s, view); id != kPass) return id;
  const DeviceNodes::OfRow& of = devices_.of(view.row());
  if (!of.known) return kPass;
  if (!view.plain() || s.demand.designated)
    return judge(s, view, DeviceWays(of.ledger, view, view.slots().find<const OpenRooms>()));
  const auto nodes = place(s, view);
  if (!nodes) return kPass;
  const NodeDevices& devices = of.ledger.devices();
  return verdict(fits(devices, s.on(devices.shape), Seen{.numa_nodes = *nodes}, &scorer_));
}

VerdictId DeviceShare::refuses_shares(State& state, const NodeView& view) const {
  const GpuDemand& gpu = state.demand.gpu;
  if (!gpu.shared || !state.demand.of(DeviceType::gpu).wanted) return kPass;
  const api::SymbolMap& labels = view.node()->metadata.labels;
  if (!gpu.isolation_provider.empty() &&
      api::value_or(labels, api::kGpuIsolationProviderLabel) != gpu.isolation_provider)
    return no_isolation_;
  if (unshared_.empty()) return kPass;
  const std::string_view vendor = api::value_or(labels, api::kGpuVendorLabel),
                         model = api::value_or(labels, api::kGpuModelLabel);
  const auto is_it = [&](const GpuShareUnsupportedModel& each) {
    return each.vendor == vendor && each.model == model;
  };
  if (std::ranges::none_of(unshared_, is_it)) return kPass;
  return intern(fmt::format("model {} of vendor {} does not support GPU Share", quote(model), quote(vendor)),
                true);
}

VerdictId DeviceShare::verdict(Refusal refusal) const {
  if (!refusal.refused()) return kPass;
  VerdictId& id = refusals_.at(static_cast<std::size_t>(refusal.why)).at(index(refusal.type));
  if (id == kPass) id = intern(std::string(refusal.text()), refusal.code() == StatusCode::unresolvable);
  return id;
}

std::optional<NumaMask> DeviceShare::place(State& state, const NodeView& view) const {
  return state.decider != nullptr ? state.decider->place(*state.for_decider, view)
                                  : std::optional<NumaMask>(0);
}

VerdictId DeviceShare::judge(State& state, const NodeView& view, const DeviceWays& ways) const {
  const auto nodes = place(state, view);
  if (!nodes) return kPass;
  const NodeDevices& devices = ways.devices();
  const BoundDemand& bound = state.on(devices.shape);
  const auto designated = designated_on(state.demand, devices, view.node()->metadata.name);
  if (!designated) return state.reasons.verdict({designated.error().message()});
  if (state.takes_over) return judge_over(state, ways, *nodes);
  Refusal last;
  std::vector<std::string> reasons;
  for (const DeviceWays::Way& way : ways.ways()) {
    last = fits(devices, bound, way.seen(*nodes, *designated ? &**designated : nullptr), &scorer_);
    if (!last.refused()) return kPass;
    if (ways.required()) reasons.push_back(of_reservation(last.text()));
  }
  return ways.required() ? state.reasons.verdict(std::move(reasons)) : verdict(last);
}

VerdictId DeviceShare::judge_over(State& state, const DeviceWays& ways, NumaMask nodes) const {
  Choice choice;
  return verdict(allocate_over(ways.devices(), state.on(ways.devices().shape), ways.beside().seen(nodes),
                               ways.removed(), scorer_, choice));
}

// What it is worth there

ScorePlugin::Prepared DeviceShare::prepare_score(const PodInfo& pod) {
  auto state = make_state(pod);
  const bool skip = state->demand.none() || state->demand.is_rejected();
  return {std::move(state), skip};
}

void DeviceShare::score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
                        std::span<std::int32_t> out) const {
  KeptAnswers* const answers = static_cast<State*>(state)->answers.get();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t* const kept = answers != nullptr ? answers->scores.find(nodes, rows[i]) : nullptr;
    out[i] = kept != nullptr ? static_cast<std::int32_t>(*kept)
                             : score_view(state, nodes, NodeView(nodes, rows[i]));
    if (kept == nullptr && answers != nullptr)
      answers->scores.put(nodes, rows[i], static_cast<std::uint32_t>(out[i]));
  }
}

std::int32_t DeviceShare::score_view(PodState* state, const NodeTable&, const NodeView& view) const {
  State& s = current(on_row(static_cast<State&>(*state), view.row()));
  const DeviceNodes::OfRow& of = devices_.of(view.row());
  if (!of.known || s.demand.none()) return 0;
  const auto nodes = place(s, view);
  if (!nodes) return 0;
  if (view.plain()) {
    const NodeDevices& devices = of.ledger.devices();
    return static_cast<std::int32_t>(
        score_node(devices, s.on(devices.shape), Seen{.numa_nodes = *nodes}, scorer_));
  }
  const DeviceWays ways(of.ledger, view, view.slots().find<const OpenRooms>());
  const BoundDemand& bound = s.on(ways.devices().shape);
  const DeviceWays::Way* way = &ways.ways().back();
  if (ways.ways().size() > 1)
    for (const DeviceWays::Way& each : ways.ways())
      if (!fits(ways.devices(), bound, each.seen(*nodes), &scorer_).refused()) {
        way = &each;
        break;
      }
  return static_cast<std::int32_t>(score_node(ways.devices(), bound, way->seen(*nodes), scorer_));
}

// In which reservations

std::unique_ptr<PodState> DeviceShare::prepare_rooms(const PodInfo& pod) {
  auto state = make_state(pod);
  if (state->demand.none() || state->demand.is_rejected()) return nullptr;
  return state;
}

bool DeviceShare::serves(PodState& state, const NodeView& view, std::string_view reservation) const {
  State& s = current(on_row(static_cast<State&>(state), view.row()));
  const DeviceNodes::OfRow& of = devices_.of(view.row());
  if (!of.known || s.demand.none()) return true;
  const DeviceWays ways(of.ledger, view, view.slots().find<const OpenRooms>());
  const DeviceWays::Way* const way = reservation.empty() ? &ways.beside() : ways.of(reservation);
  if (way == nullptr) return true;
  const auto nodes = place(s, view);
  if (!nodes || judge(s, view, ways) != kPass) return true;
  return !fits(ways.devices(), s.on(ways.devices().shape), way->seen(*nodes), &scorer_).refused();
}

std::int64_t DeviceShare::worth(PodState& state, const NodeView& view, std::string_view reservation) const {
  State& s = current(on_row(static_cast<State&>(state), view.row()));
  const DeviceNodes::OfRow& of = devices_.of(view.row());
  if (!of.known || s.demand.none()) return 0;
  const DeviceWays ways(of.ledger, view, view.slots().find<const OpenRooms>());
  const DeviceWays::Way* const way = ways.of(reservation);
  const auto nodes = place(s, view);
  if (way == nullptr || !nodes) return 0;
  return score_node(ways.devices(), s.on(ways.devices().shape), way->seen(*nodes), scorer_);
}

// What it gets

Status DeviceShare::choose(const PodAttempt& attempt, NumaMask nodes,
                           std::shared_ptr<const Given>& given) const {
  const DeviceNodes::OfRow& of = devices_.of(attempt.row);
  if (!of.known) return {};
  const DeviceDemand demand = demand_on(attempt.pod, attempt.row);
  // Where the profile does not ask before.
  if (demand.is_rejected()) return {demand.code, demand.rejected};
  if (demand.none()) return {};
  const auto* const room = attempt.pod.kept.find<const RoomChoice>();
  NodeView view(context_.nodes, attempt.row);
  const auto* const over = attempt.pod.kept.find<const RoomTakenOver>();
  if (over != nullptr)
    for (const PodInfo* pod : context_.nodes.pods(attempt.row))
      if (std::ranges::find(over->pods, pod->pod->metadata.uid) != over->pods.end()) view.remove(*pod);
  const DeviceWays ways(of.ledger, view, room != nullptr ? room->open.get() : nullptr);
  const NodeDevices& devices = ways.devices();
  const auto designated = designated_on(demand, devices, attempt.node.view());
  if (!designated) return {StatusCode::error, designated.error().message()};
  const DeviceWays::Way* const in = room != nullptr ? ways.of(room->reservation) : nullptr;
  Seen seen = (in != nullptr ? *in : ways.beside()).seen(nodes, *designated ? &**designated : nullptr);
  seen.reserving = true;
  const BoundDemand bound(demand, devices.shape);
  Choice choice;
  const Refusal refusal = over != nullptr
                              ? allocate_over(devices, bound, seen, ways.removed(), scorer_, choice)
                              : allocate(devices, bound, seen, &scorer_, choice);
  if (refusal.refused())
    return {refusal.code(), in != nullptr ? of_reservation(refusal.text()) : std::string(refusal.text())};
  given = std::make_shared<const Given>(make_given(devices, bound, choice));
  return {};
}

Status DeviceShare::resize_pod(PodAttempt& attempt, Requests& takes) {
  if (!is_placeholder(*attempt.pod.pod)) return {};
  std::shared_ptr<const Given> given;
  // Its memory nodes are taken in Reserve, as they are now.
  const auto state = make_state(attempt.pod);
  const NumaMask nodes = place(*state, NodeView(context_.nodes, attempt.row)).value_or(0);
  if (Status status = choose(attempt, nodes, given); !status.ok() || given == nullptr) return status;
  for (const auto& [name, quantity] : total(*given)) {
    const ResourceId id = context_.nodes.keep_resource(name.view());
    std::erase_if(takes.scalars, [id](const Amount& amount) { return amount.resource == id; });
    if (!quantity.is_zero()) takes.scalars.push_back({id, quantity.value()});
  }
  std::ranges::sort(takes.scalars, {}, &Amount::resource);
  // From now on it asks for both: what it has is chosen.
  auto written = std::make_unique<Written>();
  written->given = std::move(given);
  attempt.keep(context_.index, std::move(written));
  return {};
}

Status DeviceShare::reserve(PodAttempt& attempt) {
  std::shared_ptr<const Given> given;
  if (const auto* const resized = static_cast<const Written*>(attempt.kept(context_.index))) {
    given = resized->given;
  } else {
    const auto* const at = aligns_ ? attempt.pod.kept.find<const NumaPlace>() : nullptr;
    const NumaMask nodes = at != nullptr ? at->nodes : 0;
    if (Status status = choose(attempt, nodes, given); !status.ok() || given == nullptr) return status;
    auto written = std::make_unique<Written>();
    written->given = given;
    attempt.keep(context_.index, std::move(written));
  }
  devices_.give(attempt.row, attempt.pod, std::move(given));
  return {};
}

void DeviceShare::unreserve(PodAttempt& attempt) {
  if (attempt.kept(context_.index) == nullptr) return;
  devices_.give(attempt.row, attempt.pod, nullptr);
  attempt.keep(context_.index, nullptr);
}

std::shared_ptr<PreBindWork> DeviceShare::bind_work(PodAttempt& attempt) const {
  auto* const written = static_cast<Written*>(attempt.kept(context_.index));
  if (written == nullptr) return nullptr;
  const std::string_view node = attempt.node.view();
  const std::shared_ptr<const api::Device>& device = devices_.of(attempt.row).device;
  if (device == nullptr)
    return std::make_shared<FailedWork>(
        fmt::format("device.scheduling.koordinator.sh \"{}\" not found", node));
  const api::DeviceAllocations said = write_given(*written->given, device.get());
  written->text = api::encode_annotation(said);
  if (!adapts_) return nullptr;
  auto adapted =
      adapt(attempt.pod.pod->metadata.labels, &device->metadata.labels, node, said, context_.clock.now());
  if (!adapted) return std::make_shared<FailedWork>(adapted.error().message());
  written->for_vendor = std::move(adapted->changes);
  if (adapted->lock.empty()) return nullptr;
  return std::make_shared<NodeLock>(
      adapted->lock,
      fmt::format("failed to adapt for GPU device plugin of vendor \"{}\": ", adapted->vendor));
}

std::shared_ptr<PreBindWork> DeviceShare::pre_bind(PodAttempt& attempt) { return bind_work(attempt); }
std::shared_ptr<PreBindWork> DeviceShare::pre_bind_reservation(PodAttempt& attempt) {
  return bind_work(attempt);
}

/// What another attempt has left there, or somebody wrote, goes where nothing is given: bound, it would
/// count.
void DeviceShare::change_pod(PodAttempt& attempt, PodChanges& changes) {
  const auto* const written = static_cast<const Written*>(attempt.kept(context_.index));
  if (written == nullptr) {
    if (attempt.pod.pod->metadata.annotations.contains(api::DeviceAllocations::kAnnotation))
      changes.removed_annotations.emplace_back(api::DeviceAllocations::kAnnotation);
    return;
  }
  changes.annotations[api::DeviceAllocations::kAnnotation] = written->text;
  for (const auto& [key, value] : written->for_vendor.annotations) changes.annotations[key] = value;
  for (const auto& [key, value] : written->for_vendor.labels) changes.labels[key] = value;
}

void DeviceShare::change_reservation(PodAttempt& attempt, PodChanges& changes) {
  change_pod(attempt, changes);
  const auto* const written = static_cast<const Written*>(attempt.kept(context_.index));
  if (!resizes_ || written == nullptr) return;
  auto said = api::read_annotation<api::ReservationResize>(attempt.pod.pod->metadata.annotations);
  api::ReservationResize resized = said && *said ? std::move(**said) : api::ReservationResize();
  for (const auto& [name, quantity] : total(*written->given)) resized.resources[name] = quantity;
  changes.annotations[api::ReservationResize::kAnnotation] = api::encode_annotation(resized);
}

/// The original tries again whenever any pod goes or any Device changes; here when something has changed of a
/// node that takes the pod now.
bool DeviceShare::worth_retrying(const PodInfo& pod, const ClusterEvent& event) const {
  std::string_view node;
  if (template_events_.has(event.kind)) {
    const DeviceDemand demand = demand_of(pod);
    return demand.gpu.by_template && !demand.is_rejected();
  }
  if (class_events_.has(event.kind)) return !vendors_of(pod).empty();
  switch (event.kind) {
    case EventKind::own_pod_label:
    case EventKind::own_pod_scale_down:
    case EventKind::own_pod_update:
    case EventKind::plugin_told: return true;
    case EventKind::assigned_pod_add: return keeps_room(*event.new_pod);
    case EventKind::node_add:
    case EventKind::node_label: node = event.new_node->metadata.name; break;
    case EventKind::assigned_pod_delete: node = event.old_pod->spec.node_name.view(); break;
    default:
      node =
          static_cast<const api::Device*>(event.new_object != nullptr ? event.new_object : event.old_object)
              ->metadata.name;
  }
  if (node.empty()) return true;  // it was assumed there
  const Row row = context_.nodes.find(node);
  if (row == kNoRow || !context_.nodes.node(row)) return false;
  // What it keeps may be for the pod.
  if (std::ranges::any_of(devices_.of(row).ledger.holders(),
                          [](const auto& each) { return keeps_room(*each.pod->pod); }))
    return true;
  const auto state = make_state(pod);
  return !state->demand.is_rejected() &&
         filter_view(state.get(), context_.nodes, NodeView(context_.nodes, row)) == kPass;
}

/// Of the nodes whose devices do not serve those that have the most left of what it asks for.
AdmitExplainPlugin::Admission DeviceShare::explain_admission(const PodInfo& pod) {
  Admission said;
  const auto state = make_state(pod);
  if (state->demand.none() || state->demand.is_rejected()) return said;
  std::vector<std::pair<int, std::string>> nodes;  // how many are free
  for (Row row = 0; row < context_.nodes.rows(); ++row) {
    if (!context_.nodes.node(row) || !devices_.of(row).known) continue;
    if (are_of_claims(state->vendors, row)) continue;  // said of its claim
    const VerdictId id = filter_view(state.get(), context_.nodes, NodeView(context_.nodes, row));
    if (id == kPass) continue;
    const std::string& name = context_.nodes.node(row)->metadata.name;
    const Left left = devices_left(devices_.of(row).ledger, state->demand);
    nodes.emplace_back(left.free, fmt::format("{} has {}: {}.", name, left.text,
                                              fmt::join(context_.verdicts[id].reasons, ", ")));
  }
  std::ranges::stable_sort(nodes, std::greater<>(), &std::pair<int, std::string>::first);
  for (std::size_t i = 0; i < nodes.size() && i < kExplained; ++i)
    said.summary.push_back(std::move(nodes[i].second));
  if (nodes.size() > kExplained)
    said.summary.push_back(
        fmt::format("The devices of {} more nodes do not serve it either.", nodes.size() - kExplained));
  return said;
}

std::optional<kube::Scope> DeviceShare::watched(const kube::ObjectType& type) const {
  if (&type != &kube::kObjectType<api::ConfigMap>) return std::nullopt;
  kube::Scope scope;
  scope.ns = templates_config_.config_map_namespace;
  scope.fields = fmt::format("metadata.name={}", templates_config_.config_map_name);
  return scope;
}

std::optional<ServiceAnswer> DeviceShare::serve(const ServiceRequest& request) const {
  constexpr std::string_view kAll = "/nodeDeviceSummaries", kOne = "/nodeDeviceSummaries/";
  if (request.path == kAll) return ServiceAnswer{200, describe(devices_, context_.nodes)};
  if (!request.path.starts_with(kOne)) return std::nullopt;
  const std::string_view name = std::string_view(request.path).substr(kOne.size());
  const Row row = context_.nodes.find(name);
  if (row == kNoRow || !context_.nodes.node(row) || !devices_.of(row).known)
    return service_error(404, fmt::format("cannot find node {}", name));
  return ServiceAnswer{200, describe(devices_.of(row))};
}

}  // namespace device_share

extern const PluginEntry kDeviceShare{
    .name = "DeviceShare",
    .args = &args_type<device_share::DeviceShareArgs>,
    .make = &make_with<device_share::DeviceShare, device_share::DeviceShareArgs>};

}  // namespace koord::scheduling
