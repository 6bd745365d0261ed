// Words of admission, and how long plugins take.
#include "framework/webhook/admission.hpp"

namespace koord::manager {

namespace {

constexpr metrics::Metric kDuration{
    .name = "koord_manager_webhook_webhook_duration_milliseconds",
    .type = metrics::Type::histogram,
    .help = "Milliseconds that a plugin of a webhook took, and whether it allowed or rejected.",
    .labels = {"webhook_type", "object_type", "operation", "plugin_name", "status"},
    .bounds = metrics::exponential_bounds(0.001, 2, 20)};

}  // namespace

const metrics::Table PluginTimes::kMetrics = {&kDuration};

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::create: return "CREATE";
    case Operation::update: return "UPDATE";
    case Operation::remove: return "DELETE";
    case Operation::connect: return "CONNECT";
  }
  return "";
}

std::string_view to_string(WebhookType type) { return type == WebhookType::mutate ? "mutate" : "validate"; }

PluginTimes::PluginTimes(metrics::Registry& registry, const Clock& clock, WebhookType type,
                         std::string_view object_type)
    : clock_(clock),
      times_(registry.histograms(kDuration)),
      type_(to_string(type)),
      object_type_(object_type) {}

void PluginTimes::record(Operation operation, std::string_view plugin, bool allowed, nanoseconds took) const {
  times_.with({type_, object_type_, to_string(operation), plugin, allowed ? "allowed" : "rejected"})
      .observe(std::chrono::duration<double, std::milli>(took).count());
}

}  // namespace koord::manager
