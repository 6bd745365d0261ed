// Measures: see measures.hpp.
#include "scheduling/gangs/measures.hpp"

#include <array>

namespace koord::scheduling::gangs {

namespace {

using metrics::Metric;
using metrics::Type;

constexpr Metric kWaiting{.name = "scheduler_waiting_gang_group_number",
                          .type = Type::gauge,
                          .help = "Number of groups of gangs with pods that wait for the others."};
constexpr Metric kTried{
    .name = "scheduler_gang_schedule_cycle_duration_seconds",
    .type = Type::histogram,
    .help =
        "Duration of an attempt to place a group of gangs at once, by how it ended and the number of pods "
        "without a node.",
    .labels = {"reason", "job_size"},
    .bounds = {0.1, 0.5, 1, 2, 3, 5, 7.5, 10, 12.5, 15, 20, 25, 30, 45, 60, 120}};

// In Koordinator's words, which dashboards select by.
constexpr std::string_view kPlaced = "gang is already succeed";
constexpr std::string_view kRefused = "all pending pods is already been attempted";

}  // namespace

void Measures::measure(metrics::Registry& registry) {
  waiting_ = registry.gauge(kWaiting);
  tried_ = registry.histograms(kTried);
  measured_ = true;
}

void Measures::tried(bool placed, std::size_t members, nanoseconds took) const {
  if (!measured_) return;
  tried_.with({placed ? kPlaced : kRefused, size_of_job(members)})
      .observe(std::chrono::duration<double>(took).count());
}

std::string_view size_of_job(std::size_t members) {
  constexpr std::size_t kWidth = 100;
  constexpr std::array<std::string_view, 10> kSizes = {"1-100",   "101-200", "201-300", "301-400",
                                                       "401-500", "501-600", "601-700", "701-800",
                                                       "801-900", "901-1000"};
  if (members == 0) return "0";
  const std::size_t at = (members - 1) / kWidth;
  return at < kSizes.size() ? kSizes[at] : "1000+";
}

}  // namespace koord::scheduling::gangs

namespace koord::scheduling {

extern const metrics::Table kGangMetrics = {&gangs::kWaiting, &gangs::kTried};

}  // namespace koord::scheduling
