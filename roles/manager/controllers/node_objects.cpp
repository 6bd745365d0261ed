// Workers over the names of nodes: see node_objects.hpp.
#include "controllers/node_objects.hpp"

namespace koord::manager {
namespace {

constexpr metrics::Labels kOutcome = {"status", "reason"};
constexpr metrics::Metric kNodeMetricWrites{.name = "slo_controller_nodemetric_reconcile_count",
                                            .type = metrics::Type::counter,
                                            .help = "Writes of NodeMetrics, by what was written.",
                                            .labels = kOutcome};
constexpr metrics::Metric kNodeMetricParts{.name = "slo_controller_nodemetric_spec_parse_count",
                                           .type = metrics::Type::counter,
                                           .help = "Parts of NodeMetrics' specs that were worked out.",
                                           .labels = kOutcome};
constexpr metrics::Metric kNodeSloWrites{.name = "slo_controller_nodeslo_reconcile_count",
                                         .type = metrics::Type::counter,
                                         .help = "Writes of NodeSLOs, by what was written.",
                                         .labels = kOutcome};
constexpr metrics::Metric kNodeSloParts{.name = "slo_controller_nodeslo_spec_parse_count",
                                        .type = metrics::Type::counter,
                                        .help = "Parts of NodeSLOs' specs that were worked out.",
                                        .labels = kOutcome};

}  // namespace

const metrics::Table kNodeObjectMetrics = {&kNodeMetricWrites, &kNodeMetricParts, &kNodeSloWrites,
                                           &kNodeSloParts};

ControllerCounts node_metric_counts(metrics::Registry& registry) {
  return {registry.counters(kNodeMetricWrites), registry.counters(kNodeMetricParts)};
}
ControllerCounts node_slo_counts(metrics::Registry& registry) {
  return {registry.counters(kNodeSloWrites), registry.counters(kNodeSloParts)};
}

NodeWorkers::NodeWorkers(Clock& clock, Logger log, std::string_view name,
                         std::function<Task<Result<>>(const std::string&)> reconcile,
                         std::function<bool()> may_write)
    : log_(std::move(log)),
      name_(name),
      reconcile_(std::move(reconcile)),
      may_write_(std::move(may_write)),
      queue_(clock) {}

void NodeWorkers::add_all(const kube::Informer<api::Node>& nodes) {
  nodes.for_each([this](const kube::Object& node) {
    queue_.add(std::static_pointer_cast<const api::Node>(node)->metadata.name);
  });
}

void NodeWorkers::start(TaskGroup& tasks) {
  for (int i = 0; i < kWorkers; ++i) tasks.spawn(fmt::format("{} {}", name_, i), work());
}

Task<Result<>> NodeWorkers::work() {
  for (;;) {
    auto next = co_await queue_.next();
    if (!next) co_return next.error();
    if (!*next) co_return Result<>();
    const std::string& node = **next;
    if (!may_write_()) {
      queue_.done(node);
      continue;
    }
    const Result<> done = co_await reconcile_(node);
    if (!done && done.error().code() == Code::cancelled) {
      queue_.done(node);
      co_return done;
    }
    if (done) {
      queue_.forget(node);
    } else {
      if (queue_.failures(node) == 0)
        log_.warn("an object of a node could not be written: tried again with a backoff",
                  kv("controller", name_), kv("node", node), kv("error", done.error()));
      queue_.retry(node);
    }
    queue_.done(node);
  }
}

}  // namespace koord::manager
