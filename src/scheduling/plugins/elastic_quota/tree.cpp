// QuotaTree: who hangs under whom, and what is asked for and used; see tree.hpp.
#include "scheduling/plugins/elastic_quota/tree.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/quota.hpp"

namespace koord::scheduling::elastic_quota {

namespace {

const std::int64_t* amount_of(const Amounts& amounts, ResourceId resource) {
  for (const Amount& amount : amounts)
    if (amount.resource == resource) return &amount.amount;
  return nullptr;
}

}  // namespace

QuotaTree::QuotaTree(TreeOptions options) : options_(options) {
  quotas_[make(api::kRootQuota)].exists = true;
  --missing_;
  if (!options_.built_in) return;
  for (const auto& [name, id] : {std::pair(api::kSystemQuota, &system_), {api::kDefaultQuota, &default_}}) {
    *id = make(name);
    put({.name = std::string(name), .parent = std::string(api::kRootQuota)});
  }
}

QuotaId QuotaTree::make(std::string_view name) {
  QuotaId id;
  if (unused_.empty()) {
    id = static_cast<QuotaId>(quotas_.size());
    quotas_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
    quotas_[id] = {};
  }
  quotas_[id].name = name;
  ids_.emplace(quotas_[id].name, id);
  ++missing_;
  for (ResourceId r = 0; r < resources_; ++r) set_keys(id, r);
  return id;
}

/// Nobody names it any more.
void QuotaTree::drop_if_idle(QuotaId id) {
  Quota& quota = quotas_[id];
  if (quota.exists || !quota.level.children.empty()) return;
  ids_.erase(quota.name);
  --missing_;
  quota = {};
  unused_.push_back(id);
}

QuotaId QuotaTree::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found != ids_.end() && quotas_[found->second].exists ? found->second : kNoQuota;
}

QuotaId QuotaTree::parent(QuotaId id) const {
  const QuotaId parent = quotas_[id].parent;
  return parent != kNoQuota && quotas_[parent].exists ? parent : kNoQuota;
}

bool QuotaTree::leads_to(QuotaId from, QuotaId to) const {
  for (; from != kNoQuota; from = quotas_[from].parent)
    if (from == to) return true;
  return false;
}

void QuotaTree::attach(QuotaId id) {
  const std::string& parent_name = quotas_[id].parent_name;
  const auto known = ids_.find(parent_name);
  const QuotaId parent = known != ids_.end() ? known->second : make(parent_name);
  Quota& quota = quotas_[id];
  if (leads_to(parent, id)) {
    cut_.push_back(id);
    return;
  }
  quota.parent = parent;
  Level& level = quotas_[parent].level;
  quota.slot = static_cast<std::uint32_t>(level.children.size());
  level.children.push_back(id);
  level.lends.push_back(quota.lends ? 1 : 0);
  level.ranked = false;
  for (auto& column : level.columns)
    if (column) column->shares.add();
  for (ResourceId r = 0; r < resources_; ++r) write_column(id, r);
  carry_up(id, 1);
}

void QuotaTree::detach(QuotaId id) {
  Quota& quota = quotas_[id];
  if (quota.parent == kNoQuota) {
    std::erase(cut_, id);
    return;
  }
  carry_up(id, -1);
  const QuotaId parent = std::exchange(quota.parent, kNoQuota);
  Level& level = quotas_[parent].level;
  const std::uint32_t slot = quota.slot;
  for (auto& column : level.columns) {
    if (!column) continue;
    column->shares.remove(slot);
    column->stale = true;
  }
  level.children[slot] = level.children.back();
  level.children.pop_back();
  level.lends[slot] = level.lends.back();
  level.lends.pop_back();
  if (slot < level.children.size()) quotas_[level.children[slot]].slot = slot;
  level.ranked = false;
  drop_if_idle(parent);
}

/// Circles may have been opened.
void QuotaTree::attach_cut() {
  for (const QuotaId id : std::exchange(cut_, {})) attach(id);
}

/// What is known of it counts above it, or does no more.
void QuotaTree::carry_up(QuotaId id, int sign) {
  const QuotaId parent = quotas_[id].parent;
  for (ResourceId r = 0; r < quotas_[id].figures.size(); ++r) {
    const QuotaFigures mine = quotas_[id].figures[r];
    QuotaFigures& above = at(parent, r);
    above.child_request += sign * mine.limited;
    above.allocated += sign * mine.guaranteed;
    ask(parent, r);
    use(parent, r, sign * mine.used, sign * mine.non_preemptible_used);
    for (QuotaId up = parent; up != kNoQuota; up = quotas_[up].parent) {
      QuotaFigures& theirs = at(up, r);
      theirs.non_preemptible_request += sign * mine.non_preemptible_request;
      theirs.asked |= mine.asked;
      theirs.taken |= mine.taken;
      theirs.kept_asked |= mine.kept_asked;
      theirs.kept_taken |= mine.kept_taken;
    }
    allocate(parent, r);
  }
}

QuotaId QuotaTree::put(const QuotaSpec& spec) {
  if (spec.name == api::kRootQuota) return kRoot;
  for (const Amounts* amounts : {&spec.max, &spec.min, &spec.weight})
    for (const Amount& amount : *amounts) {
      if (amount.resource < resources_) continue;
      const ResourceId before = std::exchange(resources_, amount.resource + 1);
      named_.resize(resources_);
      for (QuotaId id = 0; id < quotas_.size(); ++id)
        for (ResourceId r = before; r < resources_; ++r) set_keys(id, r);
    }
  const auto known = ids_.find(spec.name);
  const QuotaId id = known != ids_.end() ? known->second : make(spec.name);
  const bool moves = !quotas_[id].exists || (quotas_[id].parent_name != spec.parent && !is_built_in(id));
  if (!quotas_[id].exists) {
    quotas_[id].exists = true;
    --missing_;
    // It divides what it names alone from now on.
    for (ResourceId r = 0; r < resources_; ++r) set_keys(id, r);
  } else if (moves) {
    detach(id);
  }
  quotas_[id].is_parent = spec.is_parent;
  set_terms(id, spec);
  if (moves) {
    quotas_[id].parent_name = spec.parent;
    attach(id);
    attach_cut();
  }
  return id;
}

void QuotaTree::remove(QuotaId id) {
  if (id == kRoot || is_built_in(id)) return;
  detach(id);
  set_terms(id, {});
  quotas_[id].exists = false;
  ++missing_;
  for (ResourceId r = 0; r < resources_; ++r) set_keys(id, r);
  drop_if_idle(id);
  attach_cut();
}

/// All that its object says but its place.
void QuotaTree::set_terms(QuotaId id, const QuotaSpec& spec) {
  Quota& quota = quotas_[id];
  const bool lends = spec.lends && !options_.guarantee_usage;
  const bool lending_changes = std::exchange(quota.lends, lends) != lends;
  if (lending_changes && quota.parent != kNoQuota)
    quotas_[quota.parent].level.lends[quota.slot] = lends ? 1 : 0;
  for (ResourceId r = 0; r < resources_; ++r) {
    QuotaFigures& figures = at(id, r);
    const auto said = [&](const Amounts& amounts, std::int64_t none) {
      const std::int64_t* amount = amount_of(amounts, r);
      return amount != nullptr ? std::max<std::int64_t>(*amount, 0) : none;
    };
    const std::int64_t max = said(spec.max, QuotaFigures::kNone), min = said(spec.min, QuotaFigures::kNone);
    const std::int64_t* const weighs = amount_of(spec.weight, r);
    const std::int64_t weight = weighs != nullptr ? *weighs : 0;
    if (!lending_changes && figures.max == max && figures.min == min && figures.weight == weight) continue;
    const bool was_named = figures.in_max();
    figures.max = max;
    figures.min = min;
    figures.weight = weight;
    if (figures.in_max() != was_named) {
      if (!is_built_in(id)) named_[r] += figures.in_max() ? 1U : -1U;
      count_anew(id, r);
      set_keys(id, r);
      set_keys(kRoot, r);
    }
    ask(id, r);
    allocate(id, r);
    write_column(id, r);
  }
}

bool QuotaTree::divides(QuotaId id, ResourceId resource) const {
  if (id == kRoot) return named_[resource] > 0;
  const Quota& quota = quotas_[id];
  return !quota.exists || (resource < quota.figures.size() && quota.figures[resource].in_max());
}

/// Its level has a column for the resource exactly if it divides it.
void QuotaTree::set_keys(QuotaId id, ResourceId resource) {
  Level& level = quotas_[id].level;
  if (level.columns.size() <= resource) level.columns.resize(resource + 1);
  std::optional<Column>& column = level.columns[resource];
  if (divides(id, resource) == column.has_value()) return;
  if (column) return column.reset();
  column.emplace();
  for (std::size_t i = 0; i < level.children.size(); ++i) column->shares.add();
  for (const QuotaId child : level.children) write_column(child, resource);
}

/// What its own pods ask for and use, when the resource has begun or ceased to count.
void QuotaTree::count_anew(QuotaId id, ResourceId resource) {
  QuotaFigures sums;
  if (at(id, resource).in_max())
    for (const PodId pod : quotas_[id].pods) {
      const Pod& counted = pods_[pod];
      const std::int64_t* const asked = amount_of(counted.requests, resource);
      if (asked == nullptr) continue;
      sums.self_request += *asked;
      sums.asked = true;
      sums.kept_asked |= !counted.preemptible;
      if (!counted.preemptible) sums.self_non_preemptible_request += *asked;
      if (!counted.assigned) continue;
      sums.self_used += *asked;
      sums.taken = true;
      sums.kept_taken |= !counted.preemptible;
      if (!counted.preemptible) sums.self_non_preemptible_used += *asked;
    }
  QuotaFigures& figures = at(id, resource);
  const std::int64_t request = sums.self_request - std::exchange(figures.self_request, sums.self_request);
  const std::int64_t used = sums.self_used - std::exchange(figures.self_used, sums.self_used);
  const std::int64_t kept =
      sums.self_non_preemptible_request -
      std::exchange(figures.self_non_preemptible_request, sums.self_non_preemptible_request);
  const std::int64_t kept_used =
      sums.self_non_preemptible_used -
      std::exchange(figures.self_non_preemptible_used, sums.self_non_preemptible_used);
  figures.child_request += request;
  figures.allocated += options_.guarantee_usage ? used : 0;
  use(id, resource, used, kept_used);
  for (QuotaId up = id; up != kNoQuota; up = quotas_[up].parent) {
    QuotaFigures& theirs = at(up, resource);
    theirs.non_preemptible_request += kept;
    theirs.asked |= sums.asked;
    theirs.taken |= sums.taken;
    theirs.kept_asked |= sums.kept_asked;
    theirs.kept_taken |= sums.kept_taken;
  }
}

// Pods

PodId QuotaTree::add_pod(QuotaId quota, Amounts requests, bool preemptible, bool assigned) {
  PodId id;
  if (unused_pods_.empty()) {
    id = static_cast<PodId>(pods_.size());
    pods_.emplace_back();
  } else {
    id = unused_pods_.back();
    unused_pods_.pop_back();
  }
  std::vector<PodId>& others = quotas_[quota].pods;
  pods_[id] = {quota, static_cast<std::uint32_t>(others.size()), preemptible, assigned, std::move(requests)};
  others.push_back(id);
  count(pods_[id], 1, true, assigned);
  return id;
}

void QuotaTree::change_pod(PodId id, Amounts requests, bool preemptible) {
  Pod& pod = pods_[id];
  if (pod.preemptible == preemptible && pod.requests == requests) return;
  count(pod, -1, true, pod.assigned);
  pod.requests = std::move(requests);
  pod.preemptible = preemptible;
  count(pod, 1, true, pod.assigned);
}

void QuotaTree::assign_pod(PodId id, bool assigned) {
  Pod& pod = pods_[id];
  if (std::exchange(pod.assigned, assigned) == assigned) return;
  count(pod, assigned ? 1 : -1, false, true);
}

void QuotaTree::move_pod(PodId id, QuotaId quota) {
  if (pods_[id].quota == quota) return;
  const Pod pod = pods_[id];
  remove_pod(id);
  // The number that was given back last is the first to be taken.
  add_pod(quota, pod.requests, pod.preemptible, pod.assigned);
}

void QuotaTree::remove_pod(PodId id) {
  Pod& pod = pods_[id];
  count(pod, -1, true, pod.assigned);
  std::vector<PodId>& others = quotas_[pod.quota].pods;
  others[pod.place] = others.back();
  pods_[others[pod.place]].place = pod.place;
  others.pop_back();
  pod = {};
  unused_pods_.push_back(id);
}

void QuotaTree::count(const Pod& pod, int sign, bool request, bool used) {
  for (const Amount& asked : pod.requests) {
    if (!figures(pod.quota, asked.resource).in_max()) continue;
    QuotaFigures& figures = at(pod.quota, asked.resource);
    const std::int64_t amount = sign * asked.amount, kept = pod.preemptible ? 0 : amount;
    if (request) {
      figures.self_request += amount;
      figures.self_non_preemptible_request += kept;
      figures.child_request += amount;
      ask(pod.quota, asked.resource);
    }
    if (used) {
      figures.self_used += amount;
      figures.self_non_preemptible_used += kept;
      use(pod.quota, asked.resource, amount, kept);
      if (options_.guarantee_usage) {
        figures.allocated += amount;
        allocate(pod.quota, asked.resource);
      }
    }
    for (QuotaId up = pod.quota; up != kNoQuota; up = quotas_[up].parent) {
      QuotaFigures& theirs = at(up, asked.resource);
      if (request) theirs.non_preemptible_request += kept;
      theirs.asked |= request;
      theirs.taken |= used;
      theirs.kept_asked |= request && !pod.preemptible;
      theirs.kept_taken |= used && !pod.preemptible;
    }
  }
}

/// After a change of child_request, max, min or lending.
void QuotaTree::ask(QuotaId id, ResourceId resource) {
  for (;;) {
    QuotaFigures& figures = at(id, resource);
    const Quota& quota = quotas_[id];
    figures.request = figures.child_request;
    if (!quota.lends && id != kRoot) figures.request = std::max(figures.request, figures.min_or_zero());
    const std::int64_t limited =
        figures.in_max() && id != kRoot ? std::min(figures.request, figures.max) : figures.request;
    if (limited == figures.limited) return;
    const std::int64_t more = limited - std::exchange(figures.limited, limited);
    if (quota.parent == kNoQuota) return;
    write_column(id, resource);
    id = quota.parent;
    at(id, resource).child_request += more;
  }
}

void QuotaTree::use(QuotaId id, ResourceId resource, std::int64_t used, std::int64_t non_preemptible) {
  if (used == 0 && non_preemptible == 0) return;
  for (; id != kNoQuota; id = quotas_[id].parent) {
    QuotaFigures& figures = at(id, resource);
    figures.used += used;
    figures.non_preemptible_used += non_preemptible;
  }
}

/// After a change of allocated or min.
void QuotaTree::allocate(QuotaId id, ResourceId resource) {
  if (!options_.guarantee_usage) return;
  while (id != kRoot) {
    QuotaFigures& figures = at(id, resource);
    const std::int64_t min = is_built_in(id) ? 0 : figures.min_or_zero();
    const std::int64_t guaranteed = std::max(figures.allocated, min);
    if (guaranteed == figures.guaranteed) return;
    const std::int64_t more = guaranteed - std::exchange(figures.guaranteed, guaranteed);
    if (quotas_[id].parent == kNoQuota) return;
    write_column(id, resource);
    id = quotas_[id].parent;
    at(id, resource).allocated += more;
  }
}

const QuotaFigures& QuotaTree::figures(QuotaId id, ResourceId resource) const {
  static const QuotaFigures kNothing;
  const auto& figures = quotas_[id].figures;
  return resource < figures.size() ? figures[resource] : kNothing;
}

QuotaFigures& QuotaTree::at(QuotaId id, ResourceId resource) {
  auto& figures = quotas_[id].figures;
  if (resource >= figures.size()) figures.resize(std::max(resources_, resource + 1));
  return figures[resource];
}

}  // namespace koord::scheduling::elastic_quota
