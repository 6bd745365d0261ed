// Reporter: see reporter.hpp.
#include "framework/report/reporter.hpp"

#include <fmt/format.h>

#include "koord/api/schema/codec.hpp"
#include "koord/async/backoff.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"

namespace koord::koordlet {

namespace {

/// Reports are rare; more than this is a mistake of ours that the API server shall not feel.
constexpr double kQps = 0.1;
constexpr int kBurst = 2;
/// Of one report that others' writes come in between of.
constexpr int kTries = 4;
/// How often it is looked whether a report is due, or one that is due can be made by now.
constexpr nanoseconds kLook = std::chrono::seconds(1);
/// A list of pods that is older counts as none: longer than a kubelet takes to start again, and as long as
/// Kubernetes itself waits for a node that is silent before it takes the pods away.
constexpr nanoseconds kMaxListAge = std::chrono::minutes(5);
/// What the system uses is known two ticks after the pods are; where one of them cannot be read it never is.
constexpr nanoseconds kSettleTime = std::chrono::seconds(10);

kube::Scope own(const std::string& node) {
  kube::Scope scope;
  scope.fields = fmt::format("metadata.name={}", node);
  return scope;
}

constexpr metrics::Metric kNodeUsage{.name = "koordlet_node_metric_node_usage",
                                     .type = metrics::Type::gauge,
                                     .help = "The node's usage as NodeMetric reports it.",
                                     .labels = {"resource", "unit"}};
constexpr metrics::Metric kSystemUsage{.name = "koordlet_node_metric_system_usage",
                                       .type = metrics::Type::gauge,
                                       .help = "The system's usage as NodeMetric reports it.",
                                       .labels = {"resource", "unit"}};
constexpr metrics::Metric kNumaNodeUsage{.name = "koordlet_node_metric_numa_node_usage",
                                         .type = metrics::Type::gauge,
                                         .help = "A NUMA node's usage as NodeMetric reports it.",
                                         .labels = {"numa_node_id", "resource", "unit"}};
constexpr metrics::Metric kNumaSystemUsage{
    .name = "koordlet_node_metric_numa_system_usage",
    .type = metrics::Type::gauge,
    .help = "The system's usage of a NUMA node as NodeMetric reports it.",
    .labels = {"numa_node_id", "resource", "unit"}};

}  // namespace

const metrics::Table NodeMetricGauges::kMetrics = {&kNodeUsage, &kSystemUsage, &kNumaNodeUsage,
                                                   &kNumaSystemUsage};

NodeMetricGauges::NodeMetricGauges(metrics::Registry& registry)
    : node_usage_(registry.gauges(kNodeUsage)),
      system_usage_(registry.gauges(kSystemUsage)),
      numa_node_usage_(registry.gauges(kNumaNodeUsage)),
      numa_system_usage_(registry.gauges(kNumaSystemUsage)) {}

Reporter::Reporter(Parts parts, std::string node, bool show)
    : parts_(std::move(parts)),
      node_(std::move(node)),
      informer_(parts_.informers.informer<api::NodeMetric>(parts_.client, own(node_))),
      limit_(kQps, kBurst),
      forecast_gauges_(parts_.metrics, parts_.external) {
  if (show) gauges_.emplace(parts_.metrics);
}

ReportPolicy Reporter::policy() const {
  const auto metric = informer_.get("", node_);
  return report_policy(metric ? metric->spec : api::NodeMetricSpec());
}

Task<Result<>> Reporter::run() {
  MonoTime last = parts_.clock.mono();
  KOORD_CO_CHECK(co_await informer_.wait_synced());  // when the first one is due is in the NodeMetric
  for (;;) {
    const MonoTime now = parts_.clock.mono();
    if (!first_listed_) first_listed_ = parts_.pods_listed();
    if (const MonoTime due = last + policy().interval; now < due) {
      KOORD_CO_CHECK(co_await sleep_until(parts_.clock, std::min(due, now + kLook)));
      continue;
    }
    const Result<bool> done = co_await report();
    if (!done && done.error().code() == Code::cancelled) co_return done.error();
    if (done && !*done) {
      KOORD_CO_CHECK(co_await sleep(parts_.clock, kLook));
      continue;
    }
    last = now;
    if (!done && !failing_)
      parts_.log.warn("NodeMetric could not be written: the next report tries again",
                      kv("error", done.error()));
    if (done && failing_) parts_.log.info("NodeMetric can be written again");
    failing_ = !done;
  }
}

std::string_view Reporter::obstacle() const {
  if (!informer_.get("", node_)) return "there is no NodeMetric to report to; koord-manager makes it";
  const std::optional<MonoTime> listed = parts_.pods_listed();
  if (!listed) return "the kubelet has not told the node's pods yet";
  if (parts_.clock.mono() - *listed > kMaxListAge)
    return "the kubelet has not told the node's pods for five minutes";
  if (!parts_.last_tick()) return "nothing was sampled yet";
  return "";
}

Task<Result<bool>> Reporter::report() {
  std::string_view why = obstacle();
  api::NodeMetricStatus status;
  ProdForecast forecast;
  if (why.empty()) {
    const Inventory& inventory = *parts_.hub.current();
    ProdPredictor prod = parts_.predictor.prod();
    status = node_metric_status(parts_.series, inventory, policy(), *parts_.last_tick(), parts_.clock.now(),
                                prod, parts_.interference ? parts_.interference() : nullptr,
                                parts_.gpus ? parts_.gpus() : nullptr,
                                parts_.huge_pages ? parts_.huge_pages() : nullptr);
    forecast = prod.forecast(inventory.node);
    set_forecast(status, forecast.careful);
    const bool blind = !inventory.pods.empty() && status.pods_metric.empty();
    const bool whole = !blind && !status.node_metric->system_usage.resources.empty();
    if (!whole && parts_.clock.mono() - *first_listed_ < kSettleTime) co_return false;
    if (blind) why = "none of the node's pods can be measured";
  }
  if (why != told_ && !why.empty())
    parts_.log.warn("nothing is reported", kv("node", node_), kv("reason", why));
  if (why.empty() && !told_.empty()) parts_.log.info("NodeMetric reports start or go on");
  told_ = why;
  if (!why.empty()) co_return false;
  if (gauges_) gauges_->show(status);
  forecast_gauges_.show(forecast);
  KOORD_CO_CHECK(co_await write(std::move(status)));
  co_return true;
}

Task<Result<>> Reporter::write(api::NodeMetricStatus status) {
  const api::Kind& kind = api::kind<api::NodeMetric>();
  Backoff backoff({.initial = std::chrono::milliseconds(10), .factor = 5.0, .jitter = 0.1});
  for (int tries = 0;; ++tries) {
    if (!limit_.allow(parts_.clock.mono()))
      co_return Error(Code::too_many_requests, "NodeMetric is written too often: 0.1 a second");
    kube::ObjectKey key{"", node_};
    KOORD_CO_TRY(text, co_await parts_.client.get_raw(kind, key));
    KOORD_CO_TRY(document, json::parse(text));
    json::set(document, "status", api::encode(status, document.arena()), document.arena());
    auto written = co_await parts_.client.update_raw(kind, std::move(key), json::to_text(document), "status");
    if (written) co_return Result<>();
    if (written.error().code() != Code::conflict || tries + 1 >= kTries)
      co_return std::move(written).error().context(fmt::format("NodeMetric {}", node_));
    KOORD_CO_CHECK(co_await sleep(parts_.clock, backoff.next()));
  }
}

void NodeMetricGauges::show(const api::NodeMetricStatus& status) const {
  for (const auto& family : {node_usage_, system_usage_, numa_node_usage_, numa_system_usage_})
    family.clear();
  auto set = [](const metrics::Family<metrics::Gauge>& family, const api::ResourceMap& usage,
                const char* numa) {
    auto one = [&](const char* resource, const char* unit, double value) {
      (numa != nullptr ? family.with({numa, resource, unit}) : family.with({resource, unit})).set(value);
    };
    if (const auto* cpu = usage.resources.find("cpu"))
      one("cpu", "core", static_cast<double>(cpu->milli_value()) / 1000);
    if (const auto* memory = usage.resources.find("memory"))
      one("memory", "byte", static_cast<double>(memory->value()));
  };
  const api::NodeMetricInfo& info = *status.node_metric;
  set(node_usage_, info.node_usage, nullptr);
  set(system_usage_, info.system_usage, nullptr);
  for (const api::NumaUsage& numa : info.numa_usages) {
    const std::string id = std::to_string(numa.numa_node_id);
    set(numa_node_usage_, numa.node_usage, id.c_str());
    set(numa_system_usage_, numa.system_usage, id.c_str());
  }
}

}  // namespace koord::koordlet
