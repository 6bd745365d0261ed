// Which devices claims get: see choice.hpp.
#include "support/reference/claims/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "support/reference/claims/selectors.hpp"

namespace koord::reference {

namespace {

constexpr std::size_t kMostDevices = 32;  // of a claim

bool is_allowed(const api::Quantity& amount, const api::DeviceCapacity& of) {
  if (!of.request_policy) return true;
  const api::CapacityRequestPolicy& policy = *of.request_policy;
  if (policy.default_ && amount == *policy.default_) return true;
  if (policy.valid_range) {
    const auto& range = *policy.valid_range;
    if (range.max && amount > *range.max) return false;
    return !range.step || (amount.value() - (range.min ? range.min->value() : 0)) % range.step->value() == 0;
  }
  return policy.valid_values.empty() ||
         std::ranges::find(policy.valid_values, amount) != policy.valid_values.end();
}

const api::DeviceAttribute* attribute_of(const PoolDevice& what, const std::string& name) {
  if (const auto* found = what.device->attributes.find(name)) return found;
  const std::string driver = what.slice->spec.driver.str() + "/";
  return name.starts_with(driver) ? what.device->attributes.find(name.substr(driver.size())) : nullptr;
}

bool same(const api::DeviceAttribute& a, const api::DeviceAttribute& b) {
  return a.int_ == b.int_ && a.bool_ == b.bool_ && a.string == b.string && a.version == b.version;
}

bool same(const api::NodeSelectorRequirement& a, const api::NodeSelectorRequirement& b) {
  const auto values = [](const api::NodeSelectorRequirement& of) {
    return std::set<std::string>(of.values.begin(), of.values.end());
  };
  return a.key == b.key && a.operator_ == b.operator_ && values(a) == values(b);
}

void add_new(const api::List<api::NodeSelectorRequirement>& from,
             api::List<api::NodeSelectorRequirement>& to) {
  for (const auto& each : from)
    if (std::ranges::none_of(to, [&](const auto& known) { return same(known, each); })) to.push_back(each);
}

}  // namespace

ClaimChoice::ClaimChoice(const Cluster& cluster, const ClaimGates& gates, const api::Node& node,
                         const std::vector<const api::ResourceClaim*>& claims)
    : cluster_(cluster),
      gates_(gates),
      node_(node),
      claims_(claims),
      pools_(pools_of(cluster, gates, node)),
      asked_(claims.size()) {
  const auto take = [&](const api::AllocationResult& given) {
    for (const auto& result : given.devices.results) {
      if (result.admin_access.value_or(false)) continue;
      const std::string id =
          fmt::format("{}/{}/{}", result.driver.view(), result.pool.view(), result.device.view());
      if (!gates_.shares || !result.share_id) {
        ++taken_[id];
        continue;
      }
      api::ResourceList& of = shares_[id];
      for (const auto& [name, amount] : result.consumed_capacity) of[name] += amount;
    }
  };
  for (const auto& [key, claim] : cluster.resource_claims)
    if (claim->status.allocation) take(*claim->status.allocation);
  for (const auto& [key, given] : cluster.assumed_devices) take(*given);

  for (std::size_t i = 0; i < claims_.size() && error_.empty(); ++i) read(i);
  if (!error_.empty()) return;
  const bool found = search(0, 0);
  if (!error_.empty()) return;
  if (!found) {
    refused_ = std::ranges::any_of(pools_, &DevicePool::invalid) ? "invalid resource pools were encountered"
                                                                 : "cannot allocate all claims";
    return;
  }
  for (std::size_t i = 0; i < claims_.size(); ++i) given_.push_back(result_of(i));
}

// What is asked for

void ClaimChoice::read(std::size_t claim) {
  const api::DeviceClaim& asks = claims_[claim]->spec.devices;
  std::int64_t least = 0;
  for (const api::DeviceRequest& request : asks.requests) {
    Ways& ways = asked_[claim].emplace_back();
    if (request.exactly) ways.push_back(way_of(claim, *request.exactly));
    if (request.exactly) ways[0].admin = request.exactly->admin_access.value_or(false);
    for (const api::DeviceSubRequest& sub : request.first_available) {
      ways.push_back(way_of(claim, sub));
      ways.back().sub = sub.name.str();
    }
    for (Way& way : ways) {
      way.request = request.name.str();
      if (way.all) want_all(way);
      if (!error_.empty()) return;
    }
    least += std::ranges::min_element(ways, {}, &Way::count)->count;
  }
  if (least > static_cast<std::int64_t>(kMostDevices)) error_ = "too many devices";
  for (const api::DeviceConstraint& constraint : asks.constraints)
    if (!constraint.match_attribute && !(constraint.distinct_attribute && gates_.shares))
      error_ = "empty constraint";
}

template <class T>
ClaimChoice::Way ClaimChoice::way_of(std::size_t claim, const T& asked) {
  Way way;
  way.claim = claim;
  way.of = cluster_.device_classes.at(asked.device_class_name.str()).get();
  way.selectors = asked.selectors;
  way.tolerations = asked.tolerations;
  if (asked.capacity) way.capacity = asked.capacity->requests;
  if (asked.capacity && !gates_.shares) error_ = "capacity is asked for, and the gate is off";
  way.all = asked.allocation_mode == "All";
  way.count = asked.count;
  return way;
}

void ClaimChoice::want_all(Way& way) {
  for (const DevicePool& pool : pools_) {
    if (pool.incomplete || pool.invalid) {
      error_ = "all devices of a pool that is not whole";
      return;
    }
    for (const PoolDevice& what : pool.devices) {
      const bool wanted = matches(way, what);
      if (!error_.empty()) return;
      if (wanted && has_capacity(way, what)) way.wanted.push_back(&what);
    }
  }
  way.count = static_cast<std::int64_t>(way.wanted.size());
}

// The search

bool ClaimChoice::search(std::size_t claim, std::size_t request) {
  if (claim == claims_.size()) return true;
  if (request == asked_[claim].size()) return search(claim + 1, 0);
  for (Way& way : asked_[claim][request]) {
    if (fill(claim, request, way, 0)) return true;
    if (!error_.empty()) return false;
  }
  return false;
}

bool ClaimChoice::fill(std::size_t claim, std::size_t request, Way& way, std::int64_t had) {
  if (way.all && way.wanted.empty()) return false;
  if (had == way.count) return search(claim, request + 1);
  const auto now = std::ranges::count(chosen_, claim, [](const Chosen& each) { return each.way->claim; });
  if (now + way.count - had > static_cast<std::int64_t>(kMostDevices)) return false;
  for (const DevicePool& pool : pools_)
    for (const PoolDevice& what : pool.devices) {
      if (way.all && way.wanted[static_cast<std::size_t>(had)] != &what) continue;
      if (in_use(way, what)) continue;
      if (!way.all) {
        const bool wanted = matches(way, what);
        if (!error_.empty()) return false;
        if (!wanted) continue;
      }
      if (!choose(way, pool, what)) {
        if (!error_.empty()) return false;
        continue;
      }
      if (fill(claim, request, way, had + 1)) return true;
      chosen_.pop_back();
      if (!error_.empty()) return false;
    }
  return false;
}

bool ClaimChoice::choose(const Way& way, const DevicePool& pool, const PoolDevice& what) {
  if (!has_counters(pool, what) || !tolerates(way, what)) return false;
  if (!meets_constraints(way, what)) {
    if (way.all) error_ = "a constraint forbids one of all devices";
    return false;
  }
  if (!has_capacity(way, what)) return false;
  chosen_.push_back({&way, &pool, &what});
  return true;
}

// What speaks against a device

bool ClaimChoice::matches(Way& way, const PoolDevice& what) {
  if (const auto known = way.matches.find(&what); known != way.matches.end()) return known->second;
  const bool match = what.device->binding_conditions.empty() && selects_all(way.of->spec.selectors, what) &&
                     selects_all(way.selectors, what) && what.on_node;
  return way.matches[&what] = match;
}

bool ClaimChoice::selects_all(const api::List<api::DeviceSelector>& selectors, const PoolDevice& what) {
  for (const api::DeviceSelector& selector : selectors) {
    const auto said = selects(selector.cel->expression.str(), what.slice->spec.driver, *what.device);
    if (!said) error_ = "a selector has no value";
    if (!said.value_or(false)) return false;
  }
  return true;
}

bool ClaimChoice::is_shared(const PoolDevice& what) const {
  return gates_.shares && what.device->allow_multiple_allocations.value_or(false);
}

/// Who only looks at devices looks at each once a claim, whoever has it.
bool ClaimChoice::in_use(const Way& way, const PoolDevice& what) const {
  if (!way.admin && taken_.contains(what.id)) return true;
  // A part of it, from when it was shared.
  if (!way.admin && !is_shared(what) && shares_.contains(what.id)) return true;
  return std::ranges::any_of(chosen_, [&](const Chosen& each) {
    return each.what->id == what.id && !is_shared(*each.what) && (!way.admin || each.way->claim == way.claim);
  });
}

/// Somebody has a part of it, and so its counters.
bool ClaimChoice::is_counted(const PoolDevice& what) const {
  return is_shared(what) &&
         (shares_.contains(what.id) ||
          std::ranges::any_of(chosen_, [&](const Chosen& each) { return each.what->id == what.id; }));
}

bool ClaimChoice::has_counters(const DevicePool& pool, const PoolDevice& what) const {
  if (what.device->consumes_counters.empty()) return true;
  if (!gates_.partitions) return false;
  if (is_counted(what)) return true;
  auto left = pool.counters;
  const auto subtract = [&](const PoolDevice& each) {
    for (const auto& consumed : each.device->consumes_counters)
      for (const auto& [name, counter] : consumed.counters)
        left.at(consumed.counter_set.str()).at(name.str()) -= counter.value;
  };
  const auto is_enough = [&] {
    return std::ranges::all_of(left, [](const auto& set) {
      return std::ranges::all_of(set.second, [](const auto& counter) { return counter.second.sign() >= 0; });
    });
  };
  for (const auto* devices : {&pool.devices, &pool.elsewhere})
    for (const PoolDevice& each : *devices)
      if (taken_.contains(each.id) || shares_.contains(each.id)) subtract(each);
  std::set<std::string> parts;
  for (const Chosen& each : chosen_) {
    if (each.pool != &pool) continue;
    if (is_shared(*each.what) && (shares_.contains(each.what->id) || !parts.insert(each.what->id).second))
      continue;
    subtract(*each.what);
  }
  subtract(what);
  return is_enough();
}

bool ClaimChoice::has_capacity(const Way& way, const PoolDevice& what) const {
  if (!gates_.shares) return true;
  for (const auto& [name, amount] : way.capacity)
    if (!what.device->capacity.contains(name)) return false;
  const api::ResourceList consumes = consumed_of(way.capacity, *what.device);
  api::ResourceList had;
  if (const auto known = shares_.find(what.id); known != shares_.end()) had = known->second;
  for (const Chosen& each : chosen_)
    if (each.what->id == what.id && is_shared(what))
      for (const auto& [name, amount] : consumed_of(each.way->capacity, *what.device)) had[name] += amount;
  for (const auto& [name, capacity] : what.device->capacity) {
    if (!is_allowed(*consumes.find(name), capacity)) return false;
    api::Quantity sum = *consumes.find(name);
    if (const api::Quantity* others = had.find(name)) sum += *others;
    if (sum > capacity.value) return false;
  }
  return true;
}

bool ClaimChoice::tolerates(const Way& way, const PoolDevice& what) const {
  if (!gates_.taints) return true;
  for (const api::DeviceTaint& taint : what.device->taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (std::ranges::none_of(way.tolerations, [&](const api::DeviceToleration& each) {
          if (!each.effect.empty() && each.effect != taint.effect) return false;
          if (!each.key.empty() && each.key != taint.key) return false;
          return each.operator_ == "Exists" || each.value == taint.value;
        }))
      return false;
  }
  return true;
}

bool ClaimChoice::meets_constraints(const Way& way, const PoolDevice& what) const {
  for (const api::DeviceConstraint& constraint : claims_[way.claim]->spec.devices.constraints) {
    const auto is_about = [&](const Way& of) {
      return of.claim == way.claim && (constraint.requests.empty() ||
                                       std::ranges::any_of(constraint.requests, [&](const Symbol& name) {
                                         return name.view() == of.request || name.view() == of.name();
                                       }));
    };
    if (!is_about(way)) continue;
    const std::string name =
        constraint.match_attribute ? constraint.match_attribute->str() : constraint.distinct_attribute->str();
    const api::DeviceAttribute* const own = attribute_of(what, name);
    if (own == nullptr) return false;
    for (const Chosen& each : chosen_)
      if (is_about(*each.way) &&
          same(*own, *attribute_of(*each.what, name)) != constraint.match_attribute.has_value())
        return false;
  }
  return true;
}

// What is found

api::AllocationResult ClaimChoice::result_of(std::size_t claim) const {
  api::AllocationResult result;
  api::NodeSelectorTerm nodes;
  bool here = false;  // and nowhere else
  for (const auto& [way, pool, what] : chosen_) {
    if (way->claim != claim) continue;
    const api::ResourceSliceSpec& slice = what->slice->spec;
    auto& each = result.devices.results.emplace_back();
    each.request = way->name();
    each.driver = slice.driver;
    each.pool = slice.pool.name;
    each.device = what->device->name;
    if (way->admin) each.admin_access = true;
    each.tolerations = way->tolerations;
    if (is_shared(*what)) {
      each.share_id = "";
      each.consumed_capacity = consumed_of(way->capacity, *what->device);
    }
    const bool own = slice.per_device_node_selection.value_or(false);
    const auto& selector = own ? what->device->node_selector : slice.node_selector;
    if (own ? what->device->node_name : slice.node_name) here = true;
    if (!selector || selector->node_selector_terms.empty()) continue;
    add_new(selector->node_selector_terms[0].match_fields, nodes.match_fields);
    add_new(selector->node_selector_terms[0].match_expressions, nodes.match_expressions);
  }
  if (here) {
    nodes = {};
    nodes.match_fields.push_back({"metadata.name", "In", {Symbol(node_.metadata.name)}});
  }
  if (!nodes.match_fields.empty() || !nodes.match_expressions.empty())
    result.node_selector.ensure().node_selector_terms.push_back(nodes);
  return result;
}

}  // namespace koord::reference
