// WhatIf: see what_if.hpp.
#include "koord/scheduling/what_if/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/what_if/lent.hpp"

namespace koord::scheduling::explain {

namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";
/// Rows that no unique smallest set explains are looked at one by one so often, then left out.
constexpr std::size_t kShrinks = 8;
/// Sets of changes that rows need, beyond which the rest is left out: the smallest ones are looked at.
constexpr std::size_t kMostSets = 32;

std::vector<Row> both(const std::vector<Row>& a, const std::vector<Row>& b) {
  std::vector<Row> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

std::vector<Row> without(const std::vector<Row>& a, const std::vector<Row>& b) {
  std::vector<Row> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

bool smaller(Changes a, Changes b) { return std::popcount(a) < std::popcount(b); }

/// Equal for nodes of one kind.
std::string kind_of(const api::Node& node, const std::vector<Symbol>& naming) {
  api::Node bare;
  // What it lends changes by the minute, and is another's on each node.
  for (const auto& [resource, amount] : node.status.allocatable)
    if (!is_lent(resource.view())) bare.status.allocatable[resource.view()] = amount;
  bare.metadata.labels = node.metadata.labels;
  for (const Symbol& key : naming) bare.metadata.labels.erase(key.view());
  bare.spec.taints = node.spec.taints;
  bare.spec.unschedulable = node.spec.unschedulable;
  for (auto& taint : bare.spec.taints) taint.time_added.reset();
  return api::encode(bare);
}

std::int64_t lent_cpu(const api::Node& node) {
  const api::Quantity* const amount = node.status.allocatable.find(api::kBatchCpu);
  return amount != nullptr ? amount->value() : 0;
}

}  // namespace

WhatIf::WhatIf(Engine& engine, const Profile& profile, std::shared_ptr<const api::Pod> pod,
               std::function<bool()> give_up)
    : engine_(engine),
      profile_(profile),
      pod_(std::move(pod)),
      changes_(pod_, engine.nodes()),
      give_up_(std::move(give_up)) {}

bool WhatIf::may_ask() {
  if (!gave_up_ && give_up_ && give_up_()) gave_up_ = true;
  if (!gave_up_) ++asked_;
  return !gave_up_;
}

std::vector<Row> WhatIf::feasible(Changes changes, const PodChanges::Amounts& amounts) {
  std::vector<Row> rows;
  if (!may_ask()) return rows;
  if (engine_.refusal(profile_, changes_.with(changes, amounts))) return rows;
  const ClassState& state = engine_.evaluate(profile_, changes_.with(changes, amounts));
  if (state.feasible() == 0) return rows;
  rows.reserve(state.feasible());
  for (Row row = 0; row < engine_.nodes().rows(); ++row)
    if (engine_.nodes().node(row) && state.verdict(row) == kPass) rows.push_back(row);
  return rows;
}

bool WhatIf::fits(Row row, Changes changes, const PodChanges::Amounts& amounts) {
  if (!may_ask()) return false;
  if (engine_.refusal(profile_, changes_.with(changes, amounts))) return false;
  const ClassState& state = engine_.evaluate(profile_, changes_.with(changes, amounts));
  return state.feasible() != 0 && state.verdict(row) == kPass;
}

/// A change without which a row refuses a pod that has made all others is part of every set that makes the
/// row fit. Where these together suffice, they are the row's only smallest set.
void WhatIf::search() {
  const Changes all = changes_.all();
  const std::vector<Row> reachable = feasible(all);
  if (gave_up_) return;
  {
    std::map<VerdictId, std::vector<Row>> by_verdict;
    const ClassState& state = engine_.evaluate(profile_, changes_.with(all));
    const std::optional<Diagnosis> refusal = engine_.refusal(profile_, changes_.with(all));
    const Diagnosis diagnosis = refusal ? *refusal : state.diagnose();
    // Said before the nodes were looked at: it is what all of them say.
    if (const std::string& said = diagnosis.error.empty() ? diagnosis.prefilter_message : diagnosis.error;
        !said.empty()) {
      hopeless_.push_back(as_a_whole(diagnosis, said));
      return;
    }
    for (Row row = 0; row < engine_.nodes().rows(); ++row)
      if (engine_.nodes().node(row) && !std::binary_search(reachable.begin(), reachable.end(), row))
        by_verdict[state.verdict(row)].push_back(row);
    for (auto& [verdict, rows] : by_verdict)
      hopeless_.push_back({engine_.context().verdicts[verdict], std::move(rows)});
  }
  if (reachable.empty()) return;
  std::unordered_map<Row, Changes> needed;
  for (std::size_t i = 0; i < changes_.size(); ++i)
    for (const Row row : without(reachable, feasible(all & ~change(i)))) needed[row] |= change(i);
  if (gave_up_) return;
  std::map<Changes, std::vector<Row>> by_set;
  for (const Row row : reachable) by_set[needed[row]].push_back(row);
  std::vector<Changes> sets;
  sets.reserve(by_set.size());
  for (const auto& [set, rows] : by_set) sets.push_back(set);
  std::stable_sort(sets.begin(), sets.end(), smaller);
  if (sets.size() > kMostSets) sets.resize(kMostSets);
  for (const Changes set : sets) {
    const std::vector<Row>& rows = by_set[set];
    std::vector<Row> fit = both(rows, feasible(set));
    const std::vector<Row> others = without(rows, fit);
    if (!fit.empty()) add(set, std::move(fit));
    if (!others.empty()) look_deeper(others, set);
    if (gave_up_) break;
  }
  if (!gave_up_) settle();
  // Whether a set is a smallest one is not known of all of them.
  if (gave_up_) remedies_.clear();
}

/// Rows that fit with several sets, each more than what they need in any case.
void WhatIf::look_deeper(const std::vector<Row>& rows, Changes needed) {
  std::vector<Row> left = rows;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < changes_.size(); ++i)
    if ((needed & change(i)) == 0) others.push_back(i);
  std::vector<Row> solved;
  for (const std::size_t i : others)
    if (std::vector<Row> fit = both(left, feasible(needed | change(i))); !fit.empty()) {
      solved.insert(solved.end(), fit.begin(), fit.end());
      add(needed | change(i), std::move(fit));
    }
  std::sort(solved.begin(), solved.end());
  left = without(left, solved);
  for (std::size_t n = 0; !left.empty() && n < kShrinks && !gave_up_; ++n) {
    const Changes set = shrink(left.front());
    std::vector<Row> fit = both(left, feasible(set));
    if (fit.empty()) return;
    left = without(left, fit);
    add(set, std::move(fit));
  }
}

Hopeless WhatIf::as_a_whole(const Diagnosis& diagnosis, const std::string& said) const {
  Hopeless all{.verdict = {.plugin = std::has_single_bit(diagnosis.rejectors)
                                         ? static_cast<PluginIndex>(std::countr_zero(diagnosis.rejectors))
                                         : kNoPlugin,
                           .unresolvable = diagnosis.code != StatusCode::unschedulable,
                           .reasons = {said},
                           .error = !diagnosis.error.empty()},
               .rows = {}};
  for (Row row = 0; row < engine_.nodes().rows(); ++row)
    if (engine_.nodes().node(row)) all.rows.push_back(row);
  return all;
}

/// A set that the row needs whole, as one of those that there are.
Changes WhatIf::shrink(Row row) {
  Changes set = changes_.all();
  for (std::size_t i = 0; i < changes_.size(); ++i)
    if (fits(row, set & ~change(i), {})) set &= ~change(i);
  return set;
}

void WhatIf::add(Changes changes, std::vector<Row> rows) {
  for (Remedy& known : remedies_) {
    if (known.changes != changes) continue;
    std::vector<Row> merged;
    std::set_union(known.rows.begin(), known.rows.end(), rows.begin(), rows.end(),
                   std::back_inserter(merged));
    known.rows = std::move(merged);
    return;
  }
  remedies_.push_back({.changes = changes, .rows = std::move(rows)});
}

/// Sorts, bargains over the requests, and keeps what is not worse than another in every respect.
void WhatIf::settle() {
  std::stable_sort(remedies_.begin(), remedies_.end(), [](const Remedy& a, const Remedy& b) {
    const int more = std::popcount(a.changes) - std::popcount(b.changes);
    return more != 0 ? more < 0 : a.rows.size() > b.rows.size();
  });
  std::vector<Remedy> kept;
  for (Remedy& remedy : remedies_) {
    if (kept.size() == kMostRemedies) break;
    bargain(remedy);
    const bool worse = std::any_of(kept.begin(), kept.end(), [&](const Remedy& better) {
      if ((better.changes & ~remedy.changes) != 0) return false;
      // It changes less; it is better if it may ask for as much of everything.
      return std::all_of(better.amounts.begin(), better.amounts.end(), [&](const auto& amount) {
        const auto it = std::find_if(remedy.amounts.begin(), remedy.amounts.end(),
                                     [&](const auto& a) { return a.first == amount.first; });
        return it == remedy.amounts.end() || it->second <= amount.second;
      });
    });
    if (!worse) kept.push_back(std::move(remedy));
  }
  remedies_ = std::move(kept);
}

/// How much the pod may still ask for, on the rows that take the largest part of what it asks for now.
void WhatIf::bargain(Remedy& remedy) {
  std::vector<std::size_t> requests;
  for (std::size_t i = 0; i < changes_.size(); ++i)
    if ((remedy.changes & change(i)) != 0 && changes_[i].kind == PodChange::Kind::request)
      requests.push_back(i);
  if (requests.empty()) return;
  const auto share = [&](Row row) {
    double least = 1;
    for (const std::size_t i : requests)
      least = std::min(least, static_cast<double>(free(i, row)) / static_cast<double>(changes_[i].asked));
    return least;
  };
  const Row at = *std::max_element(remedy.rows.begin(), remedy.rows.end(),
                                   [&](Row a, Row b) { return share(a) < share(b); });
  for (const std::size_t i : requests) remedy.amounts.emplace_back(i, free(i, at));
  for (auto& [i, amount] : remedy.amounts) amount = most(remedy, i);
  remedy.rows = both(remedy.rows, feasible(remedy.changes, remedy.amounts));
}

/// Of what the change is about; it is what the row takes, most often. Less than the pod asks for.
std::int64_t WhatIf::free(std::size_t place, Row row) const {
  const NodeTable& nodes = engine_.nodes();
  const ResourceNames& names = nodes.resources();
  for (ResourceId id = 0; id < names.size(); ++id)
    if (names.name(id) == changes_[place].subject)
      return std::clamp<std::int64_t>(nodes.allocatable(id, row) - nodes.used(id, row), 0,
                                      changes_[place].asked - 1);
  return 0;
}

/// The most of a resource that any of the rows takes together with the remedy's other amounts.
std::int64_t WhatIf::most(const Remedy& remedy, std::size_t place) {
  PodChanges::Amounts amounts = remedy.amounts;
  const auto mine =
      std::find_if(amounts.begin(), amounts.end(), [&](const auto& a) { return a.first == place; });
  const auto takes = [&](std::int64_t amount) {
    mine->second = amount;
    return !both(remedy.rows, feasible(remedy.changes, amounts)).empty();
  };
  const std::int64_t guess = mine->second;
  std::int64_t low = 0, high = changes_[place].asked;  // it takes `low` and not `high`
  if (guess > 0 && takes(guess)) {
    if (guess + 1 == high || !takes(guess + 1)) return guess;
    low = guess + 1;
  } else if (guess > 0) {
    high = guess;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (takes(middle) ? low : high) = middle;
  }
  return low;
}

/// The keys of labels that no two nodes have alike.
std::vector<Symbol> WhatIf::naming_labels() const {
  const NodeTable& nodes = engine_.nodes();
  std::map<Symbol, std::unordered_set<Symbol>> values;
  std::map<Symbol, bool> repeats;
  for (Row row = 0; row < nodes.rows(); ++row) {
    if (!nodes.node(row)) continue;
    for (const auto& [key, value] : nodes.node(row)->metadata.labels) {
      bool& again = repeats[key];
      again = again || !values[key].insert(value).second;
    }
  }
  std::vector<Symbol> keys{Symbol(kHostname)};
  for (const auto& [key, again] : repeats)
    if (!again && values[key].size() > 1) keys.push_back(key);
  return keys;
}

std::vector<NodeKind> WhatIf::node_kinds() {
  const NodeTable& nodes = engine_.nodes();
  const std::vector<Symbol> naming = naming_labels();
  std::unordered_map<std::string, NodeKind> by_kind;
  for (Row row = 0; row < nodes.rows(); ++row) {
    if (!nodes.node(row)) continue;
    NodeKind& kind = by_kind[kind_of(*nodes.node(row), naming)];
    // The one that lends most stands for those that are alike otherwise.
    if (kind.nodes++ == 0 || lent_cpu(*nodes.node(row)) > lent_cpu(*nodes.node(kind.like))) kind.like = row;
  }
  std::vector<NodeKind> kinds;
  kinds.reserve(by_kind.size());
  for (const auto& [key, kind] : by_kind) kinds.push_back(kind);
  std::sort(kinds.begin(), kinds.end(), [](const NodeKind& a, const NodeKind& b) {
    return a.nodes != b.nodes ? a.nodes > b.nodes : a.like < b.like;
  });
  if (kinds.size() > kMostKinds) kinds.resize(kMostKinds);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!may_ask()) {
      kinds.resize(i);
      break;
    }
    NodeKind& kind = kinds[i];
    auto copy = std::make_shared<api::Node>(*nodes.node(kind.like));
    copy->metadata.name = fmt::format("{}-once-more", copy->metadata.name);
    if (copy->metadata.labels.contains(kHostname)) copy->metadata.labels[kHostname] = copy->metadata.name;
    const std::string name = copy->metadata.name;
    engine_.put_node(std::move(copy));
    const ClassState& state = engine_.evaluate(profile_, pod_);
    const Row row = nodes.find(name);
    const VerdictId verdict = state.verdict(row);
    kind.fits = state.feasible() != 0 && verdict == kPass;
    kind.verdict = engine_.context().verdicts[verdict];
    if (!kind.fits) kind.prefilter = state.diagnose().prefilter_message;
    engine_.remove_node(name);
  }
  return kinds;
}

}  // namespace koord::scheduling::explain
