// The manager as a role: informers, the configuration, and a row for each controller.
#include "role.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/node_objects.hpp"
#include "controllers/node_resources.hpp"
#include "docs.hpp"
#include "flags.hpp"
#include "koord/base/system.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/runtime/leading_role.hpp"
#include "rights.hpp"

namespace koord::manager {

namespace {

/// What upstream has and this version has not: named at the start.
constexpr std::array<std::string_view, 2> kMissingControllers = {"quotaprofile", "colocationprofile"};
constexpr std::array<std::string_view, 4> kMissingPlugins = {"CPUNormalization", "ResourceAmplification",
                                                             "GPUDeviceResource", "RDMADeviceResource"};
constexpr std::array<std::string_view, 2> kLendingAnnotations = {"node.koordinator.sh/reservation",
                                                                 "node.koordinator.sh/thirdPartyAllocations"};
constexpr std::string_view kStrategyAnnotation = "node.koordinator.sh/colocation-strategy",
                           kBandwidthAnnotation = "node.koordinator.sh/network-bandwidth";

struct Parts {
  runtime::LeaderElectionSettings election;
  kube::Client* client;
  kube::Informer<api::ConfigMap> config_maps;
  kube::Informer<api::Node> nodes;
  kube::Informer<api::NodeMetric> node_metrics;
  kube::Informer<api::NodeSlo> node_slos;
  kube::Informer<api::Pod> pods;
};

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
const metrics::Table kControllers = {&kNodeMetricWrites, &kNodeMetricParts, &kNodeSloWrites, &kNodeSloParts};

ControllerCounts counts(metrics::Registry& registry, const metrics::Metric& writes,
                        const metrics::Metric& parts) {
  return {registry.counters(writes), registry.counters(parts)};
}

bool same_annotations(const api::Node& a, const api::Node& b, std::span<const std::string_view> names) {
  return std::ranges::all_of(names, [&](std::string_view name) {
    return api::value_or(a.metadata.annotations, name) == api::value_or(b.metadata.annotations, name);
  });
}

/// Whether anything changed that the specs of a node's objects follow from: a heartbeat changes nothing.
bool changes_specs(const api::Node& before, const api::Node& after) {
  return before.metadata.uid != after.metadata.uid || before.metadata.labels != after.metadata.labels ||
         !same_annotations(before, after, std::array{kStrategyAnnotation, kBandwidthAnnotation});
}

/// Whether anything changed that what it lends follows from, or that itself.
bool changes_loans(const api::Node& before, const api::Node& after) {
  return changes_specs(before, after) || before.status.capacity != after.status.capacity ||
         before.status.allocatable != after.status.allocatable ||
         !same_annotations(before, after, kLendingAnnotations);
}

/// The same of a pod, beside its coming and going.
bool changes_loans(const api::Pod& before, const api::Pod& after) {
  return before.spec.node_name != after.spec.node_name || before.status.phase != after.status.phase ||
         before.metadata.labels != after.metadata.labels || before.spec.containers != after.spec.containers;
}

class Manager final : public runtime::LeadingRole {
 public:
  Manager(runtime::RoleContext& context, Parts parts)
      : LeadingRole(context, {.election = parts.election, .client = parts.client, .host_name = host_name()}),
        parts_(std::move(parts)),
        recorder_(context.executor, *parts_.client, context.clock, events(context)),
        node_metrics_(
            {.name = "nodemetric",
             .kind_name = "NodeMetric",
             .clock = context.clock,
             .log = context.log,
             .client = *parts_.client,
             .nodes = parts_.nodes,
             .objects = parts_.node_metrics,
             .counts = counts(context.metrics, kNodeMetricWrites, kNodeMetricParts),
             .available = [this] { return config_.colocation_available(); },
             .spec = [this](const api::Node& node, const api::NodeMetricSpec* before,
                            SpecParts& said) { return node_metric_spec(config_, node, before, said); },
             .may_write = [this] { return leading(); }}),
        node_slos_({.name = "nodeslo",
                    .kind_name = "NodeSLO",
                    .clock = context.clock,
                    .log = context.log,
                    .client = *parts_.client,
                    .nodes = parts_.nodes,
                    .objects = parts_.node_slos,
                    .counts = counts(context.metrics, kNodeSloWrites, kNodeSloParts),
                    .available = [this] { return config_.available(); },
                    .spec = [this](const api::Node& node, const api::NodeSloSpec* before,
                                   SpecParts& said) { return node_slo_spec(config_, node, before, said); },
                    .may_write = [this] { return leading(); }}),
        node_resources_({.clock = context.clock,
                         .log = context.log,
                         .client = *parts_.client,
                         .nodes = parts_.nodes,
                         .metrics = parts_.node_metrics,
                         .pods = parts_.pods,
                         .registry = context.metrics,
                         .plugins = plugins(context.flags.get_list("noderesource-plugins")),
                         .config = config_,
                         .may_write = [this] { return leading(); }}) {
    const std::vector<std::string>& wanted = context.flags.get_list("controllers");
    for (const auto& [name, workers] :
         {std::pair{"nodemetric", &node_metrics_.workers()}, std::pair{"nodeslo", &node_slos_.workers()},
          std::pair{"noderesource", &node_resources_.workers()}}) {
      if (is_enabled(wanted, name))
        running_.push_back(workers);
      else
        workers->stop();  // what it is told of is ignored
    }
    context.health.add(
        "informer-sync",
        [this]() -> Result<> {
          if (synced_) return {};
          return Error(Code::unavailable, "the informers have not synced");
        },
        runtime::HealthChecks::readyz);
  }

 private:
  static kube::EventRecorderConfig events(const runtime::RoleContext& context) {
    kube::EventRecorderConfig config;
    config.controller = "koord-manager";
    config.instance = fmt::format("koord-manager-{}", host_name());
    config.log = context.log;
    return config;
  }

  static std::vector<const ResourcePlugin*> plugins(const std::vector<std::string>& wanted) {
    std::vector<const ResourcePlugin*> chosen;
    for (const ResourcePlugin& plugin : resource_plugins())
      if (is_enabled(wanted, plugin.name)) chosen.push_back(&plugin);
    return chosen;
  }

  void start() override {
    parts_.config_maps.deliver_to(queue_);
    parts_.nodes.deliver_to(queue_);
    parts_.node_metrics.deliver_to(queue_);
    parts_.node_slos.deliver_to(queue_);
    parts_.pods.deliver_to(queue_);
    tasks().spawn("feed", feed());
  }
  Task<Result<>> lead() override {
    KOORD_CO_CHECK(co_await synced_event_.wait());
    for (NodeWorkers* workers : running_) workers->start(tasks());
    co_return Result<>();
  }
  Task<> stop() override {
    for (NodeWorkers* workers : running_) workers->stop();
    co_await recorder_.stop();
  }

  Task<Result<>> feed();
  void take(const kube::Change& change);
  void take_config(const api::ConfigMap* map);

  Parts parts_;
  kube::EventRecorder recorder_;
  SloConfig config_;
  NodeObjects<api::NodeMetric> node_metrics_;
  NodeObjects<api::NodeSlo> node_slos_;
  NodeResources node_resources_;
  std::vector<NodeWorkers*> running_;
  kube::DeliveryQueue queue_;
  Event synced_event_;
  bool synced_ = false;
};

Task<Result<>> Manager::feed() {
  for (;;) {
    Result<kube::Batch> batch = co_await queue_.next();
    if (!batch) co_return batch.error();
    for (const kube::Change& change : batch->changes) take(change);
    if (!batch->synced || synced_) continue;
    synced_ = true;
    if (!config_.available()) take_config(nullptr);
    log().info("all nodes are known", kv("nodes", parts_.nodes.size()));
    synced_event_.set();
  }
}

void Manager::take(const kube::Change& change) {
  const auto add = [this](std::string_view name) {
    for (NodeWorkers* workers : running_) workers->add(name);
  };
  if (change.is<api::ConfigMap>()) {
    if (const auto map = change.new_object<api::ConfigMap>())
      take_config(map.get());
    else
      log().warn("the ConfigMap with the strategies was deleted; what it said stays in effect");
  } else if (change.is<api::Node>()) {
    const auto before = change.old_object<api::Node>(), after = change.new_object<api::Node>();
    const std::string& name = (after ? after : before)->metadata.name;
    if (!before || !after || changes_specs(*before, *after))
      add(name);
    else if (changes_loans(*before, *after))
      node_resources_.workers().add(name);
  } else if (change.is<api::NodeMetric>()) {
    const auto before = change.old_object<api::NodeMetric>(), after = change.new_object<api::NodeMetric>();
    const std::string& name = (after ? after : before)->metadata.name;
    if (!before || !after || before->spec != after->spec) node_metrics_.workers().add(name);
    node_resources_.workers().add(name);
  } else if (change.is<api::Pod>()) {
    const auto before = change.old_object<api::Pod>(), after = change.new_object<api::Pod>();
    if (before && after && !changes_loans(*before, *after)) return;
    for (const auto& pod : {before, after})
      if (pod && !pod->spec.node_name.empty()) node_resources_.workers().add(pod->spec.node_name.view());
  } else if (change.is<api::NodeSlo>()) {
    const auto before = change.old_object<api::NodeSlo>(), after = change.new_object<api::NodeSlo>();
    if (!before || !after || before->spec != after->spec)
      node_slos_.workers().add((after ? after : before)->metadata.name);
  }
}

void Manager::take_config(const api::ConfigMap* map) {
  const SloConfig::Update update = map ? config_.set(*map) : config_.set_absent();
  if (map == nullptr)
    log().warn("there is no ConfigMap with the strategies; the defaults are in effect",
               kv("configmap", context().flags.get("slo-config-name")));
  for (const ConfigProblem& problem : update.problems) {
    log().warn("a part of the configuration is not taken", kv("reason", problem.reason),
               kv("error", problem.message));
    if (map != nullptr && leading())
      recorder_.record({.regarding = kube::event_object(*map),
                        .type = kube::EventType::warning,
                        .reason = problem.reason,
                        .action = "Reconcile",
                        .note = problem.message});
  }
  if (!update.changed) return;
  for (NodeWorkers* workers : running_) workers->add_all(parts_.nodes);
}

Result<std::unique_ptr<runtime::Role>> make(runtime::RoleContext& context) {
  const runtime::FlagValues& flags = context.flags;
  KOORD_TRY(election, election_settings(flags));
  runtime::ClientSettings settings;
  settings.qps = static_cast<double>(flags.get_int("rest-config-qps"));
  settings.burst = static_cast<int>(flags.get_int("rest-config-burst"));
  if (settings.qps < 0) return Error(Code::invalid, "--rest-config-qps: below 0");
  KOORD_TRY(client, context.clients.client(settings));
  std::vector<std::string_view> missing;
  for (const std::string_view name : kMissingControllers)
    if (is_enabled(flags.get_list("controllers"), name)) missing.push_back(name);
  if (!missing.empty())
    context.log.info("controllers that koord does not have yet are left out",
                     kv("controllers", fmt::format("{}", fmt::join(missing, " "))));
  missing.clear();
  for (const std::string_view name : kMissingPlugins)
    if (is_enabled(flags.get_list("noderesource-plugins"), name)) missing.push_back(name);
  if (!missing.empty() && is_enabled(flags.get_list("controllers"), "noderesource"))
    context.log.info("plugins of noderesource that koord does not have yet are left out",
                     kv("plugins", fmt::format("{}", fmt::join(missing, " "))));
  kube::Scope config, unfinished;
  unfinished.fields = "status.phase!=Succeeded,status.phase!=Failed";
  config.ns = flags.get("config-namespace");
  config.fields = fmt::format("metadata.name={}", flags.get("slo-config-name"));
  // Upstream has its own at /internal-metrics alone, and none at all at /external-metrics.
  for (const char* path : {"/metrics", "/internal-metrics", "/all-metrics"})
    context.routes.add_metrics(path, [&context] { return context.metrics.exposition(); });
  context.routes.add_metrics("/external-metrics", [] { return std::string(); });
  kube::InformerSet& informers = context.informers;
  const auto on_node =
      kube::index<api::Pod>("node", [](const api::Pod& pod) { return pod.spec.node_name.view(); });
  Parts parts{std::move(election),
              client,
              informers.informer<api::ConfigMap>(*client, std::move(config)),
              informers.informer<api::Node>(*client),
              informers.informer<api::NodeMetric>(*client),
              informers.informer<api::NodeSlo>(*client),
              informers.informer<api::Pod>(*client, std::move(unfinished), {on_node})};
  return std::unique_ptr<runtime::Role>(std::make_unique<Manager>(context, std::move(parts)));
}

constexpr std::array<runtime::PortFlag, 2> kPorts = {{
    {"metrics-addr", "", false},
    {"health-probe-addr", "", false},
}};

}  // namespace

const runtime::RoleDescriptor& role() {
  static const metrics::Table kMetrics[] = {kControllers, NodeResources::kMetrics};
  static const runtime::RoleDescriptor kRole{
      .name = "manager",
      .summary = "Turns what nodes do not use into batch and mid resources; tells every node its strategies.",
      .flags = flags(),
      .gates = gates(),
      .ports = kPorts,
      .single_dash = true,
      .make = &make,
      .metrics = kMetrics,
      .docs = &docs,
      .account = "koord-manager",
      .rights = rights(),
  };
  return kRole;
}

}  // namespace koord::manager
