// Gauges of quotas: see gauges.hpp.
#include "scheduling/plugins/elastic_quota/control/gauges.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace koord::scheduling::elastic_quota {

namespace {

// Eleven values of each resource: of many quotas there are many.
constexpr std::size_t kSeries = 100'000;
constexpr metrics::Metric kStatus{
    .name = "scheduler_elastic_quota_status",
    .type = metrics::Type::gauge,
    .help =
        "What an ElasticQuota says (min, max, sharedWeight), asks for, uses and may use (runtime); CPU in "
        "milli.",
    .labels = {"name", "resource", "tree", "is_parent", "parent", "field"},
    .max_series = kSeries};
constexpr metrics::Metric kSeconds{.name = "scheduler_update_elastic_quota_status_duration_seconds",
                                   .type = metrics::Type::histogram,
                                   .help = "Duration of writing an ElasticQuota's status.",
                                   .bounds = metrics::exponential_bounds(0.001, 2, 15)};

std::array<std::pair<std::string_view, const api::ResourceList*>, 11> fields(const QuotaSummary& of) {
  return {{{"runtime", &of.runtime},
           {"request", &of.request},
           {"child-request", &of.child_request},
           {"guaranteed", &of.guaranteed},
           {"allocated", &of.allocated},
           {"non-preemptible-request", &of.non_preemptible_request},
           {"non-preemptible-used", &of.non_preemptible_used},
           {"used", &of.used},
           {"min", &of.min},
           {"max", &of.max},
           {"sharedWeight", &of.weight}}};
}

std::string_view text(bool is) { return is ? "true" : "false"; }

}  // namespace

QuotaGauges::QuotaGauges(metrics::Registry& registry) : status_(registry.gauges(kStatus)) {}

void QuotaGauges::put(const QuotaSummary& now) const {
  for (const auto& [field, amounts] : fields(now))
    for (const auto& [resource, amount] : *amounts)
      status_.with({now.name, resource, now.tree, text(now.is_parent), now.parent, field})
          .set(static_cast<double>(resource == "cpu" ? amount.milli_value() : amount.value()));
}

void QuotaGauges::remove(const QuotaSummary& before) const {
  for (const auto& [field, amounts] : fields(before))
    for (const auto& [resource, amount] : *amounts)
      status_.remove({before.name, resource, before.tree, text(before.is_parent), before.parent, field});
}

metrics::Histogram write_seconds(metrics::Registry& registry) { return registry.histogram(kSeconds); }

}  // namespace koord::scheduling::elastic_quota

namespace koord::scheduling {

extern const metrics::Table kQuotaMetrics = {&elastic_quota::kStatus, &elastic_quota::kSeconds};

}  // namespace koord::scheduling
