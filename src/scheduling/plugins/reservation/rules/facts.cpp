// Facts of reservations: see facts.hpp.
#include "scheduling/plugins/reservation/rules/facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/node.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/host/cpuset.hpp"

namespace koord::scheduling::reservation {

namespace {

using std::chrono::seconds;

constexpr nanoseconds kSoonest = seconds(3), kLatest = seconds(15);

bool is_in(const api::Reservation& r, std::string_view phase) { return r.status.phase == phase; }

Policy policy_of(const api::Reservation& r) {
  if (r.spec.allocate_policy == "Aligned") return Policy::aligned;
  if (r.spec.allocate_policy == "Restricted") return Policy::restricted;
  return Policy::none;
}

seconds since(WallTime now, const api::Time& then) {
  return std::chrono::floor<seconds>(now).time_since_epoch() - then.at.time_since_epoch();
}

Result<api::ResourceList> reserved_in(const api::SymbolMap& annotations) {
  KOORD_TRY(said, api::read_annotation<api::NodeReservation>(annotations));
  if (!said) return api::ResourceList();
  api::ResourceList amounts = std::move(said->resources);
  if (said->reserved_cpus.empty()) return amounts;
  const auto cpus = host::CpuSet::parse(said->reserved_cpus);
  if (!cpus)
    return Error(Code::invalid, fmt::format("{}: reservedCPUs: {}", api::NodeReservation::kAnnotation,
                                            cpus.error().message()));
  amounts["cpu"] = api::Quantity::from_int(cpus->size());
  return amounts;
}

/// What an operator keeps back of it; whoever cannot read it takes nothing back.
void read_reserved(const api::SymbolMap& annotations, Facts& facts) {
  if (auto said = reserved_in(annotations)) {
    facts.reserved = only(*said, facts.counted);
  } else {
    facts.unread = fmt::format("{}: nothing of it is kept back", said.error().message());
  }
}

/// Of its resources those that the annotation names, if it names any.
void restrict_to_options(const api::SymbolMap& annotations, Facts& facts) {
  auto options = api::read_annotation<api::ReservationRestrictedOptions>(annotations);
  if (!options) {
    facts.broken = options.error().message();
  } else if (*options) {
    std::vector<Symbol> both;
    for (const Symbol& resource : facts.counted)
      if (std::ranges::count((*options)->resources, resource) != 0) both.push_back(resource);
    if (!both.empty()) facts.counted = std::move(both);
  }
}

/// Running and Ready.
bool runs(const api::Pod& pod) {
  if (pod.status.phase != "Running") return false;
  const auto ready = std::ranges::find(pod.status.conditions, "Ready", &api::PodCondition::type);
  return ready != pod.status.conditions.end() && ready->status == "True";
}

}  // namespace

KOORD_SCHEMA(PodTemplate, ROW(metadata), ROW(spec));

Result<std::optional<PodTemplate>> pod_template(const api::Reservation& reservation) {
  if (reservation.spec.template_.empty()) return std::optional<PodTemplate>();
  auto read = api::decode<PodTemplate>(reservation.spec.template_.text);
  if (!read) return std::move(read).error().context("spec.template");
  return std::optional(*std::move(read));
}

bool is_available(const api::Reservation& r) { return !r.status.node_name.empty() && is_in(r, "Available"); }

bool is_active(const api::Reservation& r) {
  return !r.status.node_name.empty() && (is_in(r, "Available") || is_in(r, "Waiting"));
}

bool is_over(const api::Reservation& r) { return is_in(r, "Succeeded") || is_in(r, "Failed"); }

bool is_expired(const api::Reservation& r) {
  if (!is_in(r, "Failed")) return false;
  const auto ready = std::ranges::find(r.status.conditions, "Ready", &api::ReservationCondition::type);
  return ready != r.status.conditions.end() && ready->status == "False" && ready->reason == "Expired";
}

bool allocates_once(const api::Reservation& r) { return r.spec.allocate_once.value_or(true); }

std::string_view what_it_lacks(const api::Reservation& r) {
  if (r.spec.template_.empty()) return "the reservation misses the template spec";
  if (r.spec.owners.empty()) return "the reservation misses the owner spec";
  if (!r.spec.ttl && !r.spec.expires) return "the reservation misses the expiration spec";
  return {};
}

namespace {

Result<api::ResourceList> read_kept(const api::Reservation& r) {
  if (is_available(r)) return r.status.allocatable;
  KOORD_TRY(of, pod_template(r));
  if (!of) return api::ResourceList();
  api::Pod pod;
  pod.spec = std::move(of->spec);
  return api::pod_requests(pod);
}

}  // namespace

api::ResourceList kept_by(const api::Reservation& r) {
  auto kept = read_kept(r);
  return kept ? *std::move(kept) : api::ResourceList();
}

bool expires_now(const api::Reservation& r, WallTime now) {
  if (is_over(r) || (r.spec.ttl && r.spec.ttl->value == nanoseconds(0))) return false;
  if (r.spec.expires && since(now, *r.spec.expires) > seconds(0)) return true;
  return r.spec.ttl &&
         since(now, r.metadata.creation_timestamp) > std::chrono::floor<seconds>(r.spec.ttl->value);
}

std::optional<nanoseconds> next_look(const api::Reservation& r, WallTime now) {
  if (is_over(r)) return std::nullopt;
  std::optional<seconds> left;
  if (r.spec.expires) {
    left = -since(now, *r.spec.expires);
  } else if (r.spec.ttl && r.spec.ttl->value > nanoseconds(0)) {
    left = std::chrono::floor<seconds>(r.spec.ttl->value) - since(now, r.metadata.creation_timestamp);
  }
  if (!left) return std::nullopt;
  if (*left <= kSoonest) return kSoonest;
  return *left >= kLatest ? kLatest : nanoseconds(*left);
}

Facts::Facts(const api::Reservation& r)
    : name(r.metadata.name),
      uid(r.metadata.uid),
      node(r.status.node_name),
      labels(r.metadata.labels),
      order(api::reservation_order(r.metadata)),
      policy(policy_of(r)),
      available(is_available(r)),
      once(allocates_once(r)),
      closed(r.spec.unschedulable || r.metadata.deletion_timestamp.has_value()),
      going(r.metadata.deletion_timestamp.has_value()),
      pre_allocates(r.spec.pre_allocation),
      required(api::value_or(r.metadata.labels, api::kPreAllocationRequiredLabel) == "true") {
  if (r.spec.pre_allocation_policy) {
    from_cluster = r.spec.pre_allocation_policy->mode == "Cluster";
    several = r.spec.pre_allocation_policy->enable_multiple;
  }
  if (auto kept = read_kept(r)) {
    allocatable = *std::move(kept);
  } else if (!is_over(r)) {
    broken = fmt::format("{}, expected a pod's template", kept.error().message());
  }
  for (const api::Taint& taint : r.spec.taints) taints.push_back(taint);
  for (const auto& [resource, amount] : allocatable) counted.push_back(resource);
  if (policy == Policy::restricted) restrict_to_options(r.metadata.annotations, *this);
  read_reserved(r.metadata.annotations, *this);
  if (auto read = Owners::read(r.spec.owners)) {
    owners = *std::move(read);
  } else {
    broken = read.error().message();
  }
}

bool operates_as_reservation(const api::Pod& pod) {
  return api::value_or(pod.metadata.labels, api::kOperatingModeLabel) == "Reservation";
}

Facts::Facts(const api::Pod& pod)
    : name(pod.metadata.name),
      uid(pod.metadata.uid),
      node(pod.spec.node_name),
      labels(pod.metadata.labels),
      allocatable(api::pod_requests(pod)),
      order(api::reservation_order(pod.metadata)),
      policy(Policy::aligned),
      available(runs(pod)),
      closed(pod.metadata.deletion_timestamp.has_value()),
      going(pod.metadata.deletion_timestamp.has_value()),
      owned(!api::value_or(pod.metadata.annotations, api::kReservationCurrentOwner).empty()) {
  for (const auto& [resource, amount] : allocatable) counted.push_back(resource);
  restrict_to_options(pod.metadata.annotations, *this);
  read_reserved(pod.metadata.annotations, *this);
  auto said = api::read_annotation<api::ReservationOwners>(pod.metadata.annotations);
  if (!said) {
    broken = said.error().message();
  } else if (*said) {
    if (auto read = Owners::read((*said)->owners)) {
      owners = *std::move(read);
    } else {
      broken = read.error().message();
    }
  }
}

bool Facts::counts(std::string_view resource) const {
  return std::ranges::any_of(counted, [&](const Symbol& each) { return each == resource; });
}

api::ResourceList only(const api::ResourceList& amounts, const std::vector<Symbol>& names) {
  api::ResourceList some;
  for (const Symbol& name : names)
    if (const api::Quantity* amount = amounts.find(name)) some[name] = *amount;
  return some;
}

void add(api::ResourceList& to, const api::ResourceList& more) {
  for (const auto& [name, amount] : more) to[name] += amount;
}

void take(api::ResourceList& from, const api::ResourceList& less) {
  for (const auto& [name, amount] : less) {
    api::Quantity& left = from[name];
    left -= amount;
    if (left.sign() < 0) left = api::Quantity();
  }
}

}  // namespace koord::scheduling::reservation
