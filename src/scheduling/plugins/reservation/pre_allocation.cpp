// Reservations that take the room of running pods over: see pre_allocation.hpp.
#include "scheduling/plugins/reservation/pre_allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/scheduling/cluster/pod_selectors.hpp"
#include "scheduling/plugins/reservation/reserve_pod.hpp"

namespace koord::scheduling::reservation {

namespace {

constexpr std::int64_t kMostScore = 100;

/// All that a pod takes of a row, with more or less of each.
void add(Amounts& to, const Requests& requests, std::int64_t sign) {
  const auto more = [&](ResourceId resource, std::int64_t amount) {
    if (amount == 0) return;
    const auto it = std::ranges::find(to, resource, &Amount::resource);
    if (it != to.end()) {
      // What pods ask for may be as much as a number can be, each.
      if (__builtin_add_overflow(it->amount, sign * amount, &it->amount))
        it->amount =
            sign > 0 ? std::numeric_limits<std::int64_t>::max() : -std::numeric_limits<std::int64_t>::max();
    } else {
      to.push_back({resource, sign * amount});
    }
  };
  for (const ResourceId resource : {kCpu, kMemory, kStorage, kNonzeroCpu, kNonzeroMemory})
    more(resource, requests[resource]);
  for (const Amount& a : requests.scalars) more(a.resource, a.amount);
}

PodSelectorRef selecting(PodSelectors& selectors, const api::LabelSelector& labels) {
  static const api::LabelSelector kAll;
  const PodSelectors::Term of{{}, &kAll, &labels};
  auto selector = selectors.selector({&of, 1});
  return selector ? *std::move(selector) : PodSelectorRef();
}

}  // namespace

const std::vector<Candidate>* Candidates::at(Row row) const {
  const auto it = std::ranges::lower_bound(rows, row);
  if (it == rows.end() || *it != row) return nullptr;
  return &on[static_cast<std::size_t>(it - rows.begin())];
}

PreAllocation::PreAllocation(const PluginContext& context, Ledger& ledger, const IgnoredResources& ignored,
                             bool omits_node_labels, const PreAllocationConfig* config)
    : context_(context),
      ledger_(ledger),
      ignored_(ignored),
      omits_node_labels_(omits_node_labels),
      priority_key_(api::kPreAllocatablePriority) {
  if (config == nullptr) return;
  prefers_none_ = config->prefer_no_pre_allocated_pods;
  if (!config->cluster_priority_annotation_key.empty())
    priority_key_ = config->cluster_priority_annotation_key;
  has_cluster_mode_ = config->enable_cluster_mode;
  if (!has_cluster_mode_) return;
  api::LabelSelector of_cluster;
  of_cluster.match_labels[config->cluster_label_key.empty() ? Symbol(api::kPreAllocatableLabel)
                                                            : Symbol(config->cluster_label_key)] = "true";
  of_cluster_ = selecting(context_.selectors, of_cluster);
}

bool PreAllocation::concerns(const PodInfo& pod) {
  return pod.pod->metadata.annotations.contains(api::kReservePodPreAllocates) && is_reserve_pod(*pod.pod);
}

const Ledger::Entry* PreAllocation::entry(const PodInfo& pod) const {
  const Ledger::Entry* const e = ledger_.find(pod.pod->metadata.uid);
  return e != nullptr && e->facts ? e : nullptr;
}

// Whether it may be done at all

Status PreAllocation::admit(const PodInfo& pod) const {
  const Ledger::Entry* const e = entry(pod);
  if (e == nullptr) return {};
  if (e->facts->policy != Policy::restricted) return {StatusCode::unresolvable, kPreAllocationUnsupported};
  if (!e->facts->broken.empty()) return {StatusCode::unresolvable, e->facts->broken};
  if (e->facts->from_cluster && !has_cluster_mode_) return {StatusCode::unresolvable, kClusterModeDisabled};
  return {};
}

PreFilterTransformer::After PreAllocation::narrow(const PodInfo& pod) const {
  const std::shared_ptr<const Candidates> found = known(pod);
  if (found->of == nullptr || !found->of->facts->required) return {};
  if (found->rows.empty()) return {.status = {StatusCode::unresolvable, kPreAllocationRequired}};
  std::vector<std::string> names;
  for (const Row row : found->rows) names.push_back(context_.nodes.name(row).str());
  return {.only_nodes = std::move(names)};
}

// Whose room may be taken

std::shared_ptr<const Candidates> PreAllocation::find(const PodInfo& pod) const {
  auto found = std::make_shared<Candidates>();
  found->reserve_pod = pod.pod;
  known_ = found;
  const Ledger::Entry* const e = entry(pod);
  if (e == nullptr || !admit(pod).ok()) return found;
  const Facts& r = *e->facts;
  found->of = e;
  const api::RequiredNodeAffinity where(pod.pod->spec);
  std::map<Row, std::vector<Candidate>> on;
  const auto look_at = [&](const PodInfo& other, Row row, bool terminating) {
    const api::Pod& p = *other.pod;
    if (p.spec.node_name.empty() || is_reserve_pod(p)) return;
    const Ledger::Holder* const holder = ledger_.holder(p.metadata.uid);
    const bool held = holder != nullptr && holder->of == e;
    if (!held && (holder != nullptr || terminating ||
                  !api::value_or(p.metadata.annotations, api::ReservationAllocated::kAnnotation).empty()))
      return;
    const std::shared_ptr<const api::Node>& node = context_.nodes.node(row);
    if (!node || !where.matches(*node)) return;
    std::vector<Candidate>& there = on[row];
    if (std::ranges::find(there, &other, &Candidate::pod) != there.end()) return;
    Candidate c{.pod = &other, .requests = api::pod_requests(p), .held = held};
    if (!held) {
      if (!r.from_cluster && !r.owners.matches(p)) return;
      const auto wants = Wants::read(p.metadata);
      if (!wants || !takes_part(*wants, r, c.requests, omits_node_labels_ ? nullptr : &node->metadata.labels))
        return;
    }
    c.priority = priority_among_candidates(api::value_or(p.metadata.annotations, priority_key_));
    c.score = usage_score(c.requests, r, {});
    there.push_back(std::move(c));
  };
  const auto look_for = [&](const PodSelectorRef& selector) {
    if (!selector) return;
    for (const PodSelector::Selects& selected : selector->sets())
      for (const LabelSet::Placed& placed : selected.set->pods())
        look_at(*placed.pod, placed.row, placed.terminating);
  };
  if (r.from_cluster) {
    look_for(of_cluster_);
  } else {
    for (const Owners::Term& term : r.owners.terms())
      if (term.says.label_selector) look_for(selecting(context_.selectors, *term.says.label_selector));
  }
  // Their labels may be others by now.
  std::set<Row> rows;
  for (const Ledger::Holder* holder : e->holders) rows.insert(holder->row);
  for (const Row row : rows)
    for (const PodInfo* other : context_.nodes.pods(row))
      if (const Ledger::Holder* const holder = ledger_.holder(other->pod->metadata.uid);
          holder != nullptr && holder->of == e && holder->row == row)
        look_at(*other, row, false);
  for (auto& [row, candidates] : on) {
    if (candidates.empty()) continue;
    put_in_order(candidates, r.from_cluster);
    found->rows.push_back(row);
    found->on.push_back(std::move(candidates));
  }
  return found;
}

std::shared_ptr<const Candidates> PreAllocation::known(const PodInfo& pod) const {
  return known_ && known_->reserve_pod == pod.pod ? known_ : find(pod);
}

// How a row is with them

/// `given_back`: what the view says less of than there is.
Chosen PreAllocation::choose_on(const NodeView& view, const Amounts& given_back, const Asked& asked,
                                const Facts& facts, std::span<const Candidate> candidates) const {
  std::vector<std::int64_t> free;
  free.reserve(asked.wanted.size());
  for (const Amount& a : asked.wanted)
    // The difference of what is there and used is a number; less what is given back it may be none.
    free.push_back(std::max(view.allocatable(a.resource) - view.used(a.resource),
                            -std::numeric_limits<std::int64_t>::max() + amount_of(given_back, a.resource)) -
                   amount_of(given_back, a.resource));
  const RoomWanted room{
      .reservation = facts,
      .wanted = asked.wanted,
      .free = free,
      .prefers_none = prefers_none_,
      .counted_once = [&](const Taken& taken) { return ledger_.counted_twice(asked.requests, taken); },
      .ignored = [&](std::string_view name) { return ignored_.has(name); },
      .name = [&](ResourceId id) { return std::string_view(context_.nodes.resources().name(id)); }};
  return choose(room, candidates);
}

void PreAllocation::apply(const std::shared_ptr<const Candidates>& candidates, const Asked& asked,
                          NodeView& view) const {
  const std::vector<Candidate>* const there = candidates->at(view.row());
  if (there == nullptr || candidates->of == nullptr) return;
  const Facts& r = *candidates->of->facts;
  auto applied = std::make_shared<Applied>(Applied{candidates, choose_on(view, {}, asked, r, *there), {}});
  const auto take_out = [&](const PodInfo& pod) {
    view.remove(pod);
    add(applied->given_back, pod.requests, 1);
  };
  if (applied->chosen.fits()) {
    for (const Candidate* c : applied->chosen.pods) take_out(*c->pod);
    // What of theirs is not the reservation's counts beside it.
    const Amounts once = ledger_.counted_twice(asked.requests, taken_by(applied->chosen.pods, r));
    for (Amount& a : applied->given_back) {
      view.use(a.resource, a.amount - amount_of(once, a.resource));
      a.amount = amount_of(once, a.resource);
    }
  } else {
    // That there is no room is said here.
    for (const Candidate& c : *there) take_out(*c.pod);
  }
  view.slots().put(std::shared_ptr<const Applied>(std::move(applied)));
}

std::vector<std::string> PreAllocation::judge(const Applied& applied, const Asked& asked,
                                              const NodeView& view) const {
  const Facts& r = *applied.candidates->of->facts;
  // Somebody else may be nominated there, or may have to go: who is chosen stays the same.
  if (applied.chosen.fits()) {
    std::vector<std::string> reasons;
    for (const Amount& a : asked.wanted)
      if (a.amount > view.allocatable(a.resource) - view.used(a.resource))
        reasons.push_back(
            fmt::format("Insufficient {} by node", context_.nodes.resources().name(a.resource)));
    return reasons;
  }
  return choose_on(view, applied.given_back, asked, r, *applied.candidates->at(view.row())).reasons;
}

std::vector<std::pair<Row, std::int64_t>> PreAllocation::score(const PodInfo& pod, const Asked& asked,
                                                               std::span<const Row> feasible,
                                                               std::int64_t& otherwise) const {
  std::vector<std::pair<Row, std::int64_t>> scores;
  const std::shared_ptr<const Candidates> found = known(pod);
  otherwise = 0;
  if (found->of == nullptr) return scores;
  const Facts& r = *found->of->facts;
  if (r.several) otherwise = kMostScore;
  for (std::size_t i = 0; i < found->rows.size(); ++i) {
    const Row row = found->rows[i];
    if (!std::ranges::binary_search(feasible, row)) continue;
    const Chosen chosen = choose_on(NodeView(context_.nodes, row), {}, asked, r, found->on[i]);
    const auto n = static_cast<std::int64_t>(chosen.pods.size());
    scores.emplace_back(row, r.several ? kMostScore / (1 + n) : n == 0 ? 0 : chosen.pods.front()->score);
  }
  return scores;
}

// The attempt that has a node

Status PreAllocation::nominate(Row row, const PodInfo& pod, const Asked& asked, Pods& pods) const {
  const std::shared_ptr<const Candidates> found = find(pod);
  bool any = false;
  if (const std::vector<Candidate>* const there = found->at(row)) {
    const Chosen chosen = choose_on(NodeView(context_.nodes, row), {}, asked, *found->of->facts, *there);
    if (!chosen.fits()) return {StatusCode::unschedulable, chosen.reasons.front()};
    // Of who says so already, and goes, nothing is left to be written.
    for (const Candidate* c : chosen.pods)
      if (!c->held || !c->pod->pod->metadata.deletion_timestamp) pods.push_back(c->pod->pod);
    any = !chosen.pods.empty();
  }
  if (!any && found->of != nullptr && found->of->facts->required)
    return {StatusCode::unschedulable, kNoPodsToPreAllocate};
  return {};
}

Status PreAllocation::reserve(const PodAttempt& attempt, const Pods& chosen) const {
  const Ledger::Entry* const e = ledger_.find(attempt.pod.pod->metadata.uid);
  for (const auto& pod : chosen) {
    const auto there = context_.nodes.pods(attempt.row);
    const auto it =
        std::ranges::find(there, pod->metadata.uid, [](const PodInfo* p) { return p->pod->metadata.uid; });
    if (e == nullptr || it == there.end()) return {StatusCode::unschedulable, kNoPodsToPreAllocate};
    ledger_.promise(**it, attempt.row, *e);
  }
  return {};
}

void PreAllocation::unreserve(const Pods& chosen) const {
  for (const auto& pod : chosen) ledger_.take_back_promise(pod->metadata.uid);
}

std::shared_ptr<PreBindWork> PreAllocation::pre_bind(const PodAttempt& attempt, const Pods& chosen) const {
  const Ledger::Entry* const e = entry(attempt.pod);
  if (e == nullptr) return nullptr;
  TakenOver what{.reservation = {}, .pods = chosen};
  what.reservation.name = e->facts->name;
  what.reservation.uid = e->uid;
  for (const Ledger::Holder* holder : e->holders) {
    if (holder->row == attempt.row) continue;
    for (const PodInfo* other : context_.nodes.pods(holder->row))
      if (ledger_.holder(other->pod->metadata.uid) == holder) what.not_any_more.push_back(other->pod);
  }
  if (what.pods.empty() && what.not_any_more.empty()) return nullptr;
  return take_over(std::move(what));
}

}  // namespace koord::scheduling::reservation
