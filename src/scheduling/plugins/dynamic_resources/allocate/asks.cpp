// Asks: see asks.hpp.
#include "scheduling/plugins/dynamic_resources/allocate/asks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "scheduling/plugins/dynamic_resources/allocate/capacity.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

constexpr std::uint8_t kNo = 1, kYes = 2;

Failure failed(std::string message) { return std::pair(Answer::Kind::failed, std::move(message)); }

/// Which constraints of the claim are about this request: those that name it, or none.
std::uint64_t constraints_of(const api::ResourceClaim& claim, const Ask& ask) {
  std::uint64_t bits = 0;
  const std::string full = ask.full_name();
  for (std::size_t i = 0; i < claim.spec.devices.constraints.size() && i < kMostConstraints; ++i) {
    const auto& names = claim.spec.devices.constraints[i].requests;
    if (names.empty() || std::ranges::any_of(names, [&](const Symbol& name) {
          return name == ask.request->name || name == full;
        }))
      bits |= std::uint64_t{1} << i;
  }
  return bits;
}

}  // namespace

std::string name_of(const api::ResourceClaim& claim) {
  const auto& meta = claim.metadata;
  return meta.namespace_.empty() ? meta.name : fmt::format("{}/{}", meta.namespace_.view(), meta.name);
}

std::string Ask::full_name() const {
  return sub == nullptr ? request->name.str() : fmt::format("{}/{}", request->name.view(), sub->name.view());
}

bool capacity_suffices(const Ask& ask, const NodePools::Device& device, const Taken& taken,
                       const api::ResourceList* others) {
  const api::ResourceList consumes = consumed_capacity(ask.capacity, device.object());
  const api::ResourceList* had = taken.consumed(device.number);
  if (had == nullptr || others == nullptr)
    return capacity_suffices(ask.capacity, consumes, device.object(), had == nullptr ? others : had);
  api::ResourceList both = *had;
  for (const auto& [name, amount] : *others) both[name] += amount;
  return capacity_suffices(ask.capacity, consumes, device.object(), &both);
}

Failure Asks::bind() {
  claims_.reserve(question_.claims.size());
  for (const api::ResourceClaim* claim : question_.claims)
    if (Failure failure = bind_claim(*claim)) return failure;
  return {};
}

Failure Asks::bind_claim(const api::ResourceClaim& claim) {
  Claim& bound = claims_.emplace_back();
  bound.object = &claim;
  std::int64_t least = 0;  // devices
  for (const api::DeviceRequest& request : claim.spec.devices.requests) {
    Asks::Request& of = bound.requests.emplace_back();
    of.first = static_cast<std::uint32_t>(asks_.size());
    of.prioritized = !request.first_available.empty();
    if (of.prioritized && !question_.features.prioritized_list)
      return failed(
          fmt::format("claim {}, request {}: has subrequests, but the DRAPrioritizedList feature is disabled",
                      name_of(claim), request.name.view()));
    if (!question_.features.consumable_capacity) {
      const auto refuse = [&](std::string_view what, const Symbol& name) {
        return failed(fmt::format(
            "claim {}, {} {}: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            name_of(claim), what, name.view()));
      };
      if (request.exactly && request.exactly->capacity) return refuse("request", request.name);
      for (const api::DeviceSubRequest& sub : request.first_available)
        if (sub.capacity) return refuse("subrequest", sub.name);
    }
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    const std::size_t ways = of.prioritized ? request.first_available.size() : 1;
    for (std::size_t i = 0; i < ways; ++i) {
      Ask& ask = asks_.emplace_back();
      ask.request = &request;
      if (of.prioritized) ask.sub = &request.first_available[i];
      if (Failure failure = bind_ask(claim, ask)) return failure;
      ++of.count;
      fewest = std::min(fewest, ask.count);
    }
    if (__builtin_add_overflow(least, fewest, &least)) least = std::numeric_limits<std::int64_t>::max();
  }
  if (least > static_cast<std::int64_t>(kMostResults))
    return failed(fmt::format("claim {}: number of requested devices {} exceeds the claim limit of {}",
                              name_of(claim), least, kMostResults));
  if (claim.spec.devices.constraints.size() > kMostConstraints)
    return failed(fmt::format("claim {}: number of constraints {} exceeds the claim limit of {}",
                              name_of(claim), claim.spec.devices.constraints.size(), kMostConstraints));
  for (std::size_t i = 0; i < claim.spec.devices.constraints.size(); ++i) {
    const api::DeviceConstraint& constraint = claim.spec.devices.constraints[i];
    // Only the allocator for consumable capacity knows the second kind.
    const bool distinct = constraint.distinct_attribute && question_.features.consumable_capacity;
    if (!constraint.match_attribute && !distinct)
      return failed(fmt::format("claim {}, constraint #{}: empty constraint (unsupported constraint type?)",
                                name_of(claim), i));
  }
  return {};
}

Failure Asks::bind_ask(const api::ResourceClaim& claim, Ask& ask) {
  const auto fill = [&](const auto& of) {
    ask.selectors = &of.selectors;
    ask.tolerations = &of.tolerations;
    ask.capacity = of.capacity ? &of.capacity->requests : nullptr;
    ask.count = of.count;
    return std::pair(of.device_class_name, of.allocation_mode);
  };
  std::pair<Symbol, Symbol> class_and_mode;
  bool says_admin = false;
  if (ask.sub != nullptr) {
    class_and_mode = fill(*ask.sub);
  } else if (ask.request->exactly) {
    class_and_mode = fill(*ask.request->exactly);
    says_admin = ask.request->exactly->admin_access.has_value();
    ask.admin = ask.request->exactly->admin_access.value_or(false);
  } else {
    static const api::ExactDeviceRequest kNothing;
    fill(kNothing);
  }
  const auto& [class_name, mode] = class_and_mode;
  const auto fail = [&](std::string_view what) {
    return failed(fmt::format("claim {}, request {}{}", name_of(claim), ask.name().view(), what));
  };
  for (std::size_t i = 0; i < ask.selectors->size(); ++i)
    if (!(*ask.selectors)[i].cel)
      return fail(fmt::format(", selector #{}: CEL expression empty (unsupported selector type?)", i));
  if (says_admin && !question_.features.admin_access)
    return fail(": admin access is requested, but the feature is disabled");
  if (class_name.empty()) return fail(": missing device class name (unsupported request type?)");
  ask.device_class = question_.classes(class_name.view());
  if (ask.device_class == nullptr)
    return fail(
        fmt::format(": could not retrieve device class {0}: deviceclass.resource.k8s.io \"{0}\" not found",
                    class_name.view()));
  ask.constraints = constraints_of(claim, ask);
  ask.matches.resize(question_.pools.devices.size());
  ask.all = mode == "All";
  if (ask.all) return bind_all(claim, ask);
  if (mode != "ExactCount") return fail(fmt::format(": unsupported count mode {}", mode.view()));
  return {};
}

Failure Asks::bind_all(const api::ResourceClaim& claim, Ask& ask) const {
  const NodePools& pools = question_.pools;
  std::uint32_t device = 0;
  for (std::uint32_t i = 0; i < pools.pools.size(); ++i) {
    const NodePools::Pool& pool = pools.pools[i];
    if (pool.state != NodePools::State::usable)
      return failed(
          fmt::format("claim {}, request {}: asks for all devices, but resource pool {} is currently {}",
                      name_of(claim), ask.name().view(), pool.text(),
                      pool.state == NodePools::State::incomplete ? "being updated" : "invalid"));
    for (; device < pools.devices.size() && pools.devices[device].pool == i; ++device) {
      Failure failure;
      const bool wanted = matches(claim, ask, device, failure);
      if (failure) return failure;
      if (wanted && (!question_.features.consumable_capacity ||
                     capacity_suffices(ask, pools.devices[device], question_.taken, nullptr)))
        ask.all_devices.push_back(device);
    }
  }
  ask.count = static_cast<std::int64_t>(ask.all_devices.size());
  return {};
}

bool Asks::matches(const api::ResourceClaim& claim, Ask& ask, std::uint32_t device, Failure& failure) const {
  std::uint8_t& known = ask.matches[device];
  if (known != 0) return known == kYes;
  const NodePools::Device& of = question_.pools.devices[device];
  bool match = question_.features.binding_conditions || of.object().binding_conditions.empty();
  if (match) match = select(claim, ask.device_class, ask.device_class->spec.selectors, of, failure);
  if (match) match = select(claim, nullptr, *ask.selectors, of, failure);
  if (failure) return false;
  match = match && of.on_node;
  known = match ? kYes : kNo;
  return match;
}

bool Asks::select(const api::ResourceClaim& claim, const api::DeviceClass* device_class,
                  const api::List<api::DeviceSelector>& selectors, const NodePools::Device& device,
                  Failure& failure) const {
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    // A class' selector without an expression is of a kind that is not known: it is true of nothing.
    if (!selectors[i].cel) return false;
    const Symbol& expression = selectors[i].cel->expression;
    const Verdict verdict = question_.verdicts.ask(expression, *device.slice, device.index);
    if (verdict == Verdict::no) return false;
    if (verdict == Verdict::yes) continue;
    failure = failed(fmt::format(
        "{}: selector #{}: CEL {} error: {}",
        device_class != nullptr ? "class " + device_class->metadata.name : "claim " + name_of(claim), i,
        verdict == Verdict::uncompiled ? "compile" : "runtime",
        question_.verdicts.why(expression, *device.slice, device.index)));
    return false;
  }
  return true;
}

}  // namespace koord::scheduling::dynamic_resources
