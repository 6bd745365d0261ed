// DynamicResources: pods go where their resource claims can have devices, and the claims get these.
#include "scheduling/plugins/dynamic_resources/dynamic_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugins/dynamic_resources/claims/pod_claims.hpp"
#include "scheduling/plugins/dynamic_resources/claims/readiness.hpp"
#include "scheduling/plugins/dynamic_resources/write/claim_writer.hpp"

namespace koord::scheduling {

namespace dynamic_resources {

namespace {

/// Subrequests that a request can have; the first scores that, each after it one less.
constexpr std::int32_t kMostSubrequests = 8;
/// So many rows of which nothing is known are looked at in a cycle before they are asked about.
constexpr std::size_t kLookAhead = 64;

/// A UUID of random bits (version 4), which names a share and nothing that must be guarded.
class ShareIds {
 public:
  std::string operator()() {
    const std::uint64_t high = (random_() & ~0xf000ULL) | 0x4000ULL,
                        low = (random_() & ~(3ULL << 62)) | (2ULL << 62);
    return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                       high & 0xffff, low >> 48, low & 0xffffffffffffULL);
  }

 private:
  std::mt19937_64 random_{std::random_device{}()};
};

class Deadline final : public Budget {
 public:
  Deadline(const Clock& clock, MonoTime until) : clock_(clock), until_(until) {}
  bool spent() override { return clock_.mono() >= until_; }

 private:
  const Clock& clock_;
  MonoTime until_;
};

/// The better the ways are in which requests with several are satisfied, the higher.
std::int32_t score_of(const api::ResourceClaim& claim, const api::AllocationResult& got) {
  std::int32_t score = 0;
  const auto& results = got.devices.results;
  for (const api::DeviceRequest& request : claim.spec.devices.requests)
    for (std::size_t i = 0; i < request.first_available.size(); ++i) {
      const std::string name =
          fmt::format("{}/{}", request.name.view(), request.first_available[i].name.view());
      if (std::ranges::any_of(results, [&](const auto& result) { return result.request == name; }))
        score += kMostSubrequests - static_cast<std::int32_t>(i);
    }
  return score;
}

template <class T>
const T* as(const void* object) {
  return static_cast<const T*>(object);
}

}  // namespace

ClaimCluster::ClaimCluster(const PluginContext& context, NamingAttributes names)
    : rows(context, names.memory_nodes),
      book(context, rows, std::move(names)),
      classes(context.objects.watch<api::DeviceClass>()) {
  classes.on_change([this](const api::DeviceClass*, const api::DeviceClass*) { asks.clear(); });
  ExtendedResources* const resources = ExtendedResources::of(context);
  if (resources == nullptr) return;
  extended.emplace(context, *resources, book, board);
  resources->count_by(
      [this](Row row, const api::DeviceClass& device_class) { return count(row, device_class); });
  rows.on_change([&nodes = context.nodes, resources](Row row) {
    if (resources->counts() && row < nodes.rows() && nodes.node(row) != nullptr) nodes.mark(row);
  });
}

/// As kube-scheduler has it: where a selector has no value for a device nothing counts.
ExtendedResources::Devices ClaimCluster::count(Row row, const api::DeviceClass& device_class) {
  const Result<NodePools>& pools = rows.pools(row);
  if (!pools) return {};
  ExtendedResources::Devices devices;
  for (const NodePools::Device& each : pools->devices) {
    if (!each.on_node) continue;
    Verdict verdict = Verdict::yes;
    for (const api::DeviceSelector& selector : device_class.spec.selectors)
      if (selector.cel && verdict == Verdict::yes)
        verdict = rows.verdicts().ask(selector.cel->expression, *each.slice, each.index);
    if (verdict != Verdict::yes && verdict != Verdict::no) return {};
    if (verdict == Verdict::no) continue;
    ++devices.there;
    if (book.taken().has(each.number) || book.taken().consumed(each.number) != nullptr) ++devices.taken;
  }
  return devices;
}

DynamicResources::DynamicResources(Rules rules, const PluginContext& context)
    : context_(context),
      rules_(std::move(rules)),
      cluster_(context.shared.get<ClaimCluster>(context, rules_.names)),
      features_(cluster_.rows.features()),
      not_allocated_(intern("cannot allocate all claims")),
      timed_out_(intern("timed out trying to allocate devices")),
      not_available_(intern("resourceclaim not available on the node")),
      left_(intern("cannot schedule extended resource claim")),
      not_to_be_had_(intern("cannot fit resource")),
      find_class_([this](std::string_view name) { return cluster_.classes.find({}, name).get(); }),
      new_share_(ShareIds()) {
  using enum ObjectAction;
  claim_events_ = cluster_.book.store().events(add, update, remove);
  if (auto* rules = cluster_.rows.taint_rules()) events_ = rules->events(add, update, remove);
  alignment_events_ = events_of(EventKind::assigned_pod_delete, EventKind::assigned_pod_scale_down);
  context.shared.get<NumaDeciders>().add(context.numa_hints, static_cast<PodNumaHints&>(*this));
  events_ |= claim_events_ | alignment_events_ | cluster_.classes.events(add, update) |
             context.objects.watch<api::ResourceSlice>().events(add, update, remove) |
             events_of(EventKind::node_add, EventKind::node_label, EventKind::node_allocatable,
                       EventKind::own_pod_update, EventKind::plugin_told);
}

// Before the nodes

Result<std::vector<ClaimState::Claim>> DynamicResources::claims(const api::Pod& pod) const {
  std::vector<ClaimState::Claim> found;
  const std::string_view ns = pod.metadata.namespace_.view();
  const auto all = claims_of(pod, [&](std::string_view name) {
    ClaimState::Claim claim = cluster_.book.find(ns, name);
    if (claim != nullptr) found.push_back(claim);
    return claim.get();
  });
  if (!all) return all.error();
  return found;
}

bool DynamicResources::may_enqueue(const PodInfo& pod) const {
  return pod.pod->spec.resource_claims.empty() || claims(*pod.pod).has_value();
}

AdmitExplainPlugin::Admission DynamicResources::explain_admission(const PodInfo& pod) {
  Admission said;
  if (const auto all = claims(*pod.pod); !all)
    said.summary.push_back(fmt::format("It waits for its resource claims: {}.", all.error().message()));
  return said;
}

std::unique_ptr<PodState> DynamicResources::pre_filter_pod(const PodInfo& pod, PreFiltered& said) {
  *tried_ = nullptr;
  if (pod.pod->spec.resource_claims.empty() && !cluster_.extended) return nullptr;
  auto all = claims(*pod.pod);
  if (!all) {
    said.rejected = all.error().message();
    return nullptr;
  }
  auto extended = cluster_.extended ? cluster_.extended->read(pod) : nullptr;
  if (all->empty() && extended == nullptr) return nullptr;
  auto state = std::make_unique<ClaimState>(pod.pod->metadata.uid, context_.verdicts, tried_);
  state->claims = std::move(*all);
  state->extended = std::move(extended);
  state->pod = pod.pod;
  if (!read(*state, said)) return nullptr;
  prepare_alignment(*state, pod);
  said.skip = state->extended == nullptr && state->decider == nullptr && state->asking.asks != nullptr &&
              fits_everywhere(*state);
  return state;
}

bool DynamicResources::read(ClaimState& state, PreFiltered& said) {
  std::vector<const api::ResourceClaim*> all;
  all.reserve(state.claims.size());
  for (const ClaimState::Claim& claim : state.claims) all.push_back(claim.get());
  // What it asks for does not matter: it is deleted.
  api::ResourceClaim left;
  if (state.extended != nullptr && state.extended->left != nullptr) {
    left = *state.extended->left;
    left.spec = {};
    all.push_back(&left);
  }
  const auto not_now = why_not_now(
      all, find_class_, [&](const api::ResourceClaim& claim) { return cluster_.book.pending(claim); },
      features_);
  if (not_now) {
    said.rejected = not_now->message;
    said.code = not_now->code;
    return false;
  }
  for (std::size_t i = 0; i < state.claims.size(); ++i) {
    const api::ResourceClaim& claim = *all[i];
    if (!claim.status.allocation) {
      state.wanting.push_back(i);
      state.asking.claims.push_back(&claim);
      continue;
    }
    ClaimState::Placed& placed = state.placed.emplace_back();
    placed.index = i;
    if (const auto& selector = claim.status.allocation->node_selector) {
      api::ErrorTexts errors;
      placed.on.emplace(*selector, "", &errors);
      if (!errors.empty()) {
        said.rejected = errors.aggregate();
        said.code = StatusCode::error;
        return false;
      }
    }
    if (features_.binding_conditions) {
      const Result<bool> ready = is_ready(claim);
      placed.useless = !ready || (!*ready && is_overdue(claim, rules_.binding_timeout, context_.clock.now()));
    }
  }
  std::erase_if(state.placed, [](const ClaimState::Placed& placed) { return !placed.on && !placed.useless; });
  if (!state.asking.claims.empty()) state.asking.asks = cluster_.asks.of(state.asking.claims);
  return true;
}

// Filter

void DynamicResources::filter_pod(PodState& made, const NodeTable&, std::span<const Row> rows,
                                  std::span<VerdictId> out) const {
  auto& state = static_cast<ClaimState&>(made);
  if (state.extended != nullptr || state.asking.asks == nullptr || !state.placed.empty() ||
      state.decider != nullptr) {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = judge(state, rows[i]);
    return;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row row = rows[i];
    const std::span<const AskCell> cells = state.asking.asks->cells();
    const bool known = row < cells.size() && cells[row].changes == cluster_.rows.changes(row);
    out[i] = known ? cells[row].verdict : look(state, state.asking, row).verdict;
  }
}

const Asking* DynamicResources::asking_on(ClaimState& state, Row row, VerdictId& refused) const {
  if (state.extended == nullptr) return &state.asking;
  refused = left_;
  if (state.extended->left != nullptr) return nullptr;
  refused = not_to_be_had_;
  const auto set = cluster_.extended->on_row(*state.extended, row);
  if (!set) return nullptr;
  if (*set == 0) return &state.asking;
  return &cluster_.extended->claim_of(*state.extended, *set, *state.pod, state.asking.claims, cluster_.asks)
              .asking;
}

VerdictId DynamicResources::judge(ClaimState& state, Row row) const {
  VerdictId refused = kPass;
  const Asking* const asking = asking_on(state, row, refused);
  if (asking == nullptr) return refused;
  if (asking->asks != nullptr)
    if (const VerdictId verdict = look(state, *asking, row).verdict; verdict != kPass) return verdict;
  if (state.placed.empty()) return align(state, *asking, row);
  const api::Node& node = *context_.nodes.node(row);
  bool available = true;
  for (const ClaimState::Placed& placed : state.placed) {
    const bool here = !placed.on || placed.on->matches(node.metadata.labels, node.metadata.name);
    if (here && !placed.useless) continue;
    state.unavailable.insert(placed.index);
    available = false;
  }
  return available ? align(state, *asking, row) : not_available_;
}

AskCell DynamicResources::look(ClaimState& state, const Asking& asking, Row row) const {
  const std::span<const AskCell> cells = asking.asks->cells();
  if (row < cells.size() && cells[row].changes == cluster_.rows.changes(row)) return cells[row];
  const AskCell found = search(state, asking, row);
  asking.asks->put(row, found, context_.nodes.rows());
  return found;
}

/// Whether the claims can be had on every node: then no row need be asked about in this cycle. What has
/// changed since the class was asked last is looked at for it, and of what is not known yet a little.
bool DynamicResources::fits_everywhere(ClaimState& state) const {
  AskClass& asks = *state.asking.asks;
  const std::size_t rows = context_.nodes.rows();
  std::size_t left = kLookAhead;
  const auto is_known = [&](Row row) {
    return row < asks.cells().size() && asks.cells()[row].changes == cluster_.rows.changes(row);
  };
  const auto learn = [&](Row row) {
    if (left == 0) return false;
    --left;
    const AskCell found = search(state, state.asking, row);
    asks.put(row, found, rows);
    return found.changes != 0;
  };
  const auto changed = cluster_.rows.changed_since(asks.seen);
  if (!changed) asks.clear();
  for (const Row row : changed.value_or(std::span<const Row>())) {
    // Empty when the class passed it: not known, though rows after it are.
    if (row >= asks.cells().size()) asks.unknown = std::min(asks.unknown, row);
    if (row >= asks.cells().size() || is_known(row)) continue;
    asks.put(row, {}, rows);
    if (context_.nodes.node(row) && !learn(row)) asks.unknown = std::min(asks.unknown, row);
  }
  for (; asks.refusing() == 0 && asks.unknown < rows; ++asks.unknown)
    if (context_.nodes.node(asks.unknown) && !is_known(asks.unknown) && !learn(asks.unknown)) break;
  // The rows that are asked about have all the time.
  state.began.reset();
  return asks.refusing() == 0 && asks.unknown >= rows && state.placed.empty() && !asks.prioritized;
}

AskCell DynamicResources::search(ClaimState& state, const Asking& asking, Row row) const {
  const Result<NodePools>& pools = cluster_.rows.pools(row);
  if (!pools) return {0, failed(state, pools.error().message())};
  bool had_all = false;
  const dynamic_resources::Answer answer =
      ask_in_time(state, asking, *pools, !asking.asks->prioritized, 0, had_all);
  AskCell cell{cluster_.rows.changes(row)};
  switch (answer.kind) {
    case dynamic_resources::Answer::Kind::found:
      for (std::size_t i = 0; i < answer.results.size(); ++i)
        cell.score += score_of(*asking.claims[i], answer.results[i]);
      break;
    case dynamic_resources::Answer::Kind::none: cell.verdict = not_allocated_; break;
    case dynamic_resources::Answer::Kind::failed_here: cell.verdict = intern(answer.message); break;
    case dynamic_resources::Answer::Kind::spent:
      cell.verdict = timed_out_;
      if (!had_all) cell.changes = 0;
      break;
    // It names the claims: others of the class are told of theirs.
    case dynamic_resources::Answer::Kind::failed: return {0, failed(state, answer.message)};
  }
  return cell;
}

/// All rows together have the time: what it does not suffice for is looked at in the next attempt.
Answer DynamicResources::ask_in_time(ClaimState& state, const Asking& asking, const NodePools& pools,
                                     bool only_whether, NumaMask numa_nodes, bool& had_all) const {
  const MonoTime now = context_.clock.mono();
  if (!state.began) {
    state.began = now;
    state.may_take = cluster_.share.of(rules_.filter_timeout, now);
  }
  const MonoTime until = *state.began + state.may_take;
  const bool ends = rules_.filter_timeout > nanoseconds::zero();
  had_all = now == *state.began && state.may_take == rules_.filter_timeout;
  if (ends && now >= until && now != *state.began)
    return {.kind = dynamic_resources::Answer::Kind::spent, .message = {}, .results = {}};
  dynamic_resources::Answer answer = ask(asking, pools, until, only_whether, numa_nodes);
  if (!ends) return answer;
  const MonoTime end = context_.clock.mono();
  cluster_.share.spent(state.searched, end - now, end);
  state.searched += end - now;
  return answer;
}

Answer DynamicResources::ask(const Asking& asking, const NodePools& pools, MonoTime until, bool only_whether,
                             NumaMask numa_nodes) const {
  Deadline deadline(context_.clock, until);
  return allocate({.pools = pools,
                   .claims = asking.claims,
                   .taken = cluster_.book.taken(),
                   .classes = find_class_,
                   .verdicts = cluster_.rows.verdicts(),
                   .features = features_,
                   .budget = rules_.filter_timeout > nanoseconds::zero() ? &deadline : nullptr,
                   .share_id = new_share_,
                   .only_whether = only_whether,
                   .numa_nodes = numa_nodes});
}

VerdictId DynamicResources::failed(ClaimState& state, std::string why) const {
  if (state.failed != kPass && state.failed_with == why) return state.failed;
  if (state.failed != kPass) context_.verdicts.release(state.failed);
  state.failed_with = why;
  return state.failed = context_.verdicts.hold({context_.index, false, {std::move(why)}, true});
}

/// The claims that kept the pod from nodes, though they have devices, may give these back if nobody else
/// uses them: the first of them does, as the controller writes it.
PostFilterResult DynamicResources::post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) {
  const auto& asked = attempt.profile.post_filters;
  const auto own = std::ranges::find(asked, context_.index, [](const auto& each) { return each.index; });
  const bool says = own == asked.end() || own->weight != 0;
  const auto refused = [&](std::string why) {
    return PostFilterResult{.status = {StatusCode::unschedulable, says ? std::move(why) : std::string()}};
  };
  // Plugins prepare in the order of their indexes, up to the one that rejects.
  const bool looked = diagnosis.prefilter_message.empty();
  const bool was_asked = looked || diagnosis.rejectors >> context_.index != 0;
  if (!was_asked && diagnosis.code == StatusCode::unresolvable && says)
    return {.status = {StatusCode::error, "not found"}};
  const ClaimState* const state = *tried_;
  if (state == nullptr || state->pod_uid != attempt.pod.pod->metadata.uid)
    return refused("no new claims to deallocate");
  if (!looked) return refused("still not schedulable");
  for (const std::size_t index : state->unavailable) {
    const ClaimState::Claim& claim = state->claims[index];
    const auto& users = claim->status.reserved_for;
    if (users.size() > 1 || (users.size() == 1 && users[0].uid != attempt.pod.pod->metadata.uid)) continue;
    cluster_.board->put({claim, {}});
    return refused("deallocation of ResourceClaim completed");
  }
  if (state->extended != nullptr && state->extended->left != nullptr) {
    const ClaimState::Claim& left = state->extended->left;
    if (!cluster_.board->is_busy(*left)) cluster_.board->put({left, {}, true});
    return refused("deletion of ResourceClaim completed");
  }
  return refused("still not schedulable");
}

// Score

bool DynamicResources::may_score(PodState&, const PodInfo&) {
  if (*tried_ == nullptr) return false;
  const std::shared_ptr<AskClass>& asks = (*tried_)->asking.asks;
  return asks != nullptr && asks->prioritized;
}

void DynamicResources::score(PodState&, const NodeTable&, std::span<const Row> rows,
                             std::span<std::int64_t> out) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    VerdictId refused = kPass;
    const Asking* const asking = asking_on(**tried_, rows[i], refused);
    out[i] = asking != nullptr && asking->asks != nullptr ? look(**tried_, *asking, rows[i]).score : 0;
  }
}

void DynamicResources::normalize(PodState&, std::span<const Row>, std::span<std::int64_t> scores) const {
  const std::int64_t best = scores.empty() ? 0 : *std::ranges::max_element(scores);
  if (best == 0) return;
  for (std::int64_t& score : scores) score = score * 100 / best;
}

std::unique_ptr<PluginController> DynamicResources::make_controller(kube::InformerSet&, kube::Client&) {
  return make_claim_writer(cluster_.board);
}

// Events

bool DynamicResources::concerns(const PodInfo& pod, const ClusterEvent& event) const {
  const auto *before = as<api::ResourceClaim>(event.old_object),
             *now = as<api::ResourceClaim>(event.new_object);
  if (before != nullptr && before->status.allocation && (now == nullptr || !now->status.allocation))
    return true;
  if (now == nullptr) return is_special(*before, *pod.pod);
  return names_claim(*pod.pod, now->metadata);
}

bool DynamicResources::worth_retrying(const PodInfo& pod, const ClusterEvent& event) const {
  if (alignment_events_.has(event.kind)) return cluster_.rows.knows_numa();
  const bool of_claim = claim_events_.has(event.kind);
  if (!of_claim && event.kind != EventKind::own_pod_update) return true;
  // While it waits for a claim nothing else helps.
  const auto all = claims(*pod.pod);
  if (!all) return false;
  if (!of_claim) return true;
  const auto *before = as<api::ResourceClaim>(event.old_object),
             *now = as<api::ResourceClaim>(event.new_object);
  // Devices are free again, or the claim is gone that an attempt had left.
  if (before != nullptr && before->status.allocation && (now == nullptr || !now->status.allocation))
    return true;
  if (now == nullptr) return is_special(*before, *pod.pod);
  if (std::ranges::none_of(
          *all, [&](const ClaimState::Claim& claim) { return claim->metadata.uid == now->metadata.uid; }))
    return false;
  // Of a change beside its status (drivers add finalizers) nothing follows.
  return before == nullptr || before->status != now->status;
}

namespace {

Result<std::unique_ptr<Plugin>> make_dynamic_resources(const Args& made, const PluginContext& context) {
  const auto& args = *static_cast<const DynamicResourcesArgs*>(made.get());
  const bool ends = gate_of(context, "DRASchedulerFilterTimeout", true);
  KOORD_CHECK(args.check_gates(ends, features_of(context).binding_conditions));
  const auto or_else = [](const std::optional<api::Duration>& said, nanoseconds otherwise) {
    return said ? said->value : otherwise;
  };
  DynamicResources::Rules rules;
  if (ends) rules.filter_timeout = or_else(args.filter_timeout, DynamicResourcesArgs::kFilterTimeout);
  rules.binding_timeout = or_else(args.binding_timeout, DynamicResourcesArgs::kBindingTimeout);
  if (args.gpu_names)
    rules.names = {args.gpu_names->ids, args.gpu_names->pci_buses, {}};
  else
    rules.names = {{std::begin(DynamicResourcesArgs::kGpuIds), std::end(DynamicResourcesArgs::kGpuIds)},
                   {std::begin(DynamicResourcesArgs::kGpuBuses), std::end(DynamicResourcesArgs::kGpuBuses)},
                   {}};
  if (args.numa_nodes)
    rules.names.memory_nodes = args.numa_nodes->attributes;
  else
    rules.names.memory_nodes = {std::begin(DynamicResourcesArgs::kNumaNodes),
                                std::end(DynamicResourcesArgs::kNumaNodes)};
  auto plugin = std::make_unique<DynamicResources>(rules, context);
  if (plugin->names() != rules.names)
    return Error(Code::invalid,
                 "DynamicResources: gpuNames and numaNodes: profiles must name the same attributes, as what "
                 "claims have "
                 "is known for all of them at once");
  return std::unique_ptr<Plugin>(std::move(plugin));
}

}  // namespace

}  // namespace dynamic_resources

extern const PluginEntry kDynamicResources{.name = "DynamicResources",
                                           .args = &args_type<dynamic_resources::DynamicResourcesArgs>,
                                           .make = &dynamic_resources::make_dynamic_resources};

}  // namespace koord::scheduling
