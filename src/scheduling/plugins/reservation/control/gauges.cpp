// Gauges of reservations: see gauges.hpp.
#include "scheduling/plugins/reservation/control/gauges.hpp"

#include <array>
#include <string_view>

namespace koord::scheduling::reservation {

namespace {

// Four phases, and three values of each resource: of many reservations there are many.
constexpr std::size_t kSeries = 100'000;
constexpr metrics::Metric kPhase{.name = "scheduler_reservation_status_phase",
                                 .type = metrics::Type::gauge,
                                 .help = "1 for the phase that a reservation is in, 0 for the others.",
                                 .labels = {"name", "phase"},
                                 .max_series = kSeries};
constexpr metrics::Metric kResource{
    .name = "scheduler_reservation_resource",
    .type = metrics::Type::gauge,
    .help =
        "What a reservation keeps of a resource (allocatable), what its pods have of it (allocated), and "
        "the share (utilization), with the unit.",
    .labels = {"type", "name", "resource", "unit"},
    .max_series = kSeries};

constexpr std::array<std::string_view, 4> kPhases = {"Pending", "Available", "Succeeded", "Failed"};
constexpr double kGi = 1024.0 * 1024 * 1024;

std::string_view unit_of(std::string_view resource) {
  if (resource == "cpu") return "core";
  return resource == "memory" ? "Gi" : "raw";
}

double value_of(std::string_view resource, const api::Quantity* amount) {
  if (amount == nullptr) return 0;
  if (resource == "cpu") return static_cast<double>(amount->milli_value()) / 1000;
  return static_cast<double>(amount->value()) / (resource == "memory" ? kGi : 1);
}

}  // namespace

Gauges::Gauges(metrics::Registry& registry)
    : phase_(registry.gauges(kPhase)), resource_(registry.gauges(kResource)) {}

void Gauges::put(const api::Reservation& now) const {
  const std::string_view is = now.status.phase.empty() ? kPhases[0] : now.status.phase.view();
  for (const std::string_view phase : kPhases)
    phase_.with({now.metadata.name, phase}).set(phase == is ? 1 : 0);
  for (const auto& [resource, amount] : now.status.allocatable) {
    const double kept = value_of(resource, &amount);
    const double used = value_of(resource, now.status.allocated.find(resource));
    resource_.with({"allocatable", now.metadata.name, resource, unit_of(resource)}).set(kept);
    resource_.with({"allocated", now.metadata.name, resource, unit_of(resource)}).set(used);
    if (kept > 0) resource_.with({"utilization", now.metadata.name, resource, "ratio"}).set(used / kept);
  }
}

void Gauges::remove(const api::Reservation& before) const {
  for (const std::string_view phase : kPhases) phase_.remove({before.metadata.name, phase});
  for (const auto& [resource, amount] : before.status.allocatable) {
    resource_.remove({"allocatable", before.metadata.name, resource, unit_of(resource)});
    resource_.remove({"allocated", before.metadata.name, resource, unit_of(resource)});
    resource_.remove({"utilization", before.metadata.name, resource, "ratio"});
  }
}

}  // namespace koord::scheduling::reservation

namespace koord::scheduling {

extern const metrics::Table kReservationGauges = {&reservation::kPhase, &reservation::kResource};

}  // namespace koord::scheduling
