// The manager as a role: informers, the configuration, and a row for each controller.
#include "role.hpp"

#include <fmt/format.h>

#include <random>

#include "admission/handlers.hpp"
#include "clean_up.hpp"
#include "controllers/changes.hpp"
#include "controllers/last_good.hpp"
#include "controllers/node_objects.hpp"
#include "controllers/node_resources.hpp"
#include "controllers/pod_profiles.hpp"
#include "controllers/quota_profiles.hpp"
#include "docs.hpp"
#include "explain_command.hpp"
#include "flags.hpp"
#include "framework/webhook/webhooks.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/system.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/runtime/audit.hpp"
#include "koord/runtime/leading_role.hpp"
#include "koord/view/page/page.hpp"
#include "manifests.hpp"
#include "rights.hpp"
#include "settings.hpp"

namespace koord::manager {

namespace {

struct Parts {
  runtime::LeaderElectionSettings election;
  kube::Client* client;
  kube::Informer<api::ConfigMap> config_maps;
  kube::Informer<api::Node> nodes;
  kube::Informer<api::NodeMetric> node_metrics;
  kube::Informer<api::NodeSlo> node_slos;
  kube::Informer<api::Pod> pods;
  // Nothing waits for these; their definitions may be missing.
  kube::Informer<api::NodeResourceTopology> topologies;
  kube::Informer<api::Device> devices;
  kube::Informer<api::ClusterColocationProfile> profiles;
  kube::Informer<api::Namespace> namespaces;
  kube::Informer<api::ElasticQuotaProfile> quota_profiles;
  kube::Informer<api::ElasticQuota> quotas;
  std::unique_ptr<runtime::Audit> audit;
  std::unique_ptr<ChangeNotes> notes;
  std::unique_ptr<Webhooks> webhooks;  // null: switched off
  std::unique_ptr<view::Page> page;    // null: the same
  nanoseconds shutdown_delay{};        // of them
  PodRules rules;
  std::string own_namespace;
};

/// Of the ConfigMap in which the last good value of each key is kept.
std::string last_good_name(const runtime::FlagValues& flags) {
  return fmt::format("{}-last-good", flags.get("slo-config-name"));
}

/// Of an event that is written once a pod and reason: a name as API servers take it.
std::string name_once(const api::Pod& pod, std::string_view reason) {
  std::string name = fmt::format("{}.", pod.metadata.uid);
  for (const char c : reason) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

class Manager final : public runtime::LeadingRole {
 public:
  Manager(runtime::RoleContext& context, Parts parts)
      : LeadingRole(context, {.election = parts.election, .client = parts.client, .host_name = host_name()}),
        parts_(std::move(parts)),
        recorder_(context.executor, *parts_.client, context.clock, events(context)),
        last_good_({.clock = context.clock,
                    .log = context.log,
                    .client = *parts_.client,
                    .key = {context.flags.get("config-namespace"), last_good_name(context.flags)},
                    .may_write = [this] { return leading(); }}),
        node_metrics_(
            {.name = "nodemetric",
             .kind_name = "NodeMetric",
             .clock = context.clock,
             .log = context.log,
             .client = *parts_.client,
             .nodes = parts_.nodes,
             .objects = parts_.node_metrics,
             .counts = node_metric_counts(context.metrics),
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
                    .counts = node_slo_counts(context.metrics),
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
                         .topologies = parts_.topologies,
                         .devices = parts_.devices,
                         .registry = context.metrics,
                         .plugins = resource_plugins(context),
                         .config = config_,
                         .may_write = [this] { return leading(); },
                         .warn = [this](const api::Node& node, std::string_view reason,
                                        std::string_view note) { warn(node, reason, note); }}),
        pod_profiles_({.clock = context.clock,
                       .log = context.log,
                       .client = *parts_.client,
                       .profiles = parts_.profiles,
                       .pods = parts_.pods,
                       .namespaces = parts_.namespaces,
                       .registry = context.metrics,
                       .settings = profile_settings(context),
                       .rules = std::move(parts_.rules),
                       .own_namespace = parts_.own_namespace,
                       .may_write = [this] { return leading(); },
                       .dice = [this] { return static_cast<int>(random_() % 100); },
                       .warn = [this](const api::Pod& pod, std::string_view reason,
                                      std::string_view note) { warn(pod, reason, note); },
                       .warn_once =
                           [this](const api::Pod& pod, std::string_view reason, std::string_view note) {
                             warn(pod, reason, note, name_once(pod, reason));
                           }}),
        quota_profiles_({.clock = context.clock,
                         .log = context.log,
                         .client = *parts_.client,
                         .profiles = parts_.quota_profiles,
                         .quotas = parts_.quotas,
                         .nodes = parts_.nodes,
                         .registry = context.metrics,
                         .may_write = [this] { return leading(); },
                         .warn = [this](const api::ElasticQuotaProfile& profile, std::string_view reason,
                                        std::string_view note) { warn(profile, reason, note); }}) {
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
    context.health.add(
        "shutdown",
        [this]() -> Result<> {
          if (!ending_) return {};
          return Error(Code::unavailable, "the process is ending");
        },
        runtime::HealthChecks::readyz | runtime::HealthChecks::told);
  }
  nanoseconds shutdown_delay() const override {
    return parts_.webhooks ? parts_.shutdown_delay : nanoseconds::zero();
  }

 private:
  static kube::EventRecorderConfig events(const runtime::RoleContext& context) {
    kube::EventRecorderConfig config;
    config.controller = "koord-manager";
    config.instance = fmt::format("koord-manager-{}", host_name());
    config.log = context.log;
    return config;
  }

  /// An event for who looks at that object.
  template <class T>
  void warn(const T& object, std::string_view reason, std::string_view note, std::string_view name = {}) {
    recorder_.record({.regarding = kube::event_object(object),
                      .type = kube::EventType::warning,
                      .reason = reason,
                      .action = "Reconcile",
                      .note = note,
                      .name = name});
  }

  void start() override {
    parts_.config_maps.deliver_to(queue_);
    parts_.nodes.deliver_to(queue_);
    parts_.node_metrics.deliver_to(queue_);
    parts_.node_slos.deliver_to(queue_);
    parts_.pods.deliver_to(queue_);
    parts_.topologies.deliver_to(optional_queue_);
    parts_.devices.deliver_to(optional_queue_);
    parts_.profiles.deliver_to(optional_queue_);
    parts_.quota_profiles.deliver_to(optional_queue_);
    tasks().spawn("feed", feed());
    tasks().spawn("feed optional", feed_optional());
    tasks().spawn("topologies", look_again_after(parts_.topologies));
    tasks().spawn("devices", look_again_after(parts_.devices));
    if (parts_.webhooks) parts_.webhooks->start(tasks());
    if (!parts_.page) return;
    if (const Result<> opened = parts_.page->open(tasks()); !opened) context().shutdown(opened.error());
  }
  Task<Result<>> lead() override {
    KOORD_CO_CHECK(co_await synced_event_.wait());
    KOORD_CO_TRY(last_good, co_await last_good_.read());
    if (last_good) {
      config_ = SloConfig();
      config_.restore(*last_good);
    }
    const auto now = parts_.config_maps.get(context().flags.get("config-namespace"),
                                            context().flags.get("slo-config-name"));
    take_config(now.get());
    if (!now && last_good && !last_good->data.empty())
      warn(*last_good, "SLOCfgMissing",
           fmt::format("there is no ConfigMap {}; what it said last stays in effect",
                       context().flags.get("slo-config-name")));
    tasks().spawn("last good configuration", last_good_.keep());
    for (NodeWorkers* workers : running_) workers->start(tasks());
    if (is_enabled(context().flags.get_list("controllers"), "colocationprofile"))
      pod_profiles_.start(tasks());
    if (is_enabled(context().flags.get_list("controllers"), "quotaprofile")) quota_profiles_.start(tasks());
    co_return Result<>();
  }
  Task<> stop() override {
    ending_ = true;
    for (NodeWorkers* workers : running_) workers->stop();
    pod_profiles_.stop();
    quota_profiles_.stop();
    co_await recorder_.stop();
  }
  /// Endpoints go on leading here for a moment: what API servers ask is answered until they have changed.
  Task<> close(bool in_order) override {
    if (parts_.webhooks) co_await close_webhooks(in_order);
    if (parts_.page) co_await parts_.page->stop();  // nobody's review waits for who looks on
  }
  Task<> close_webhooks(bool in_order) {
    if (in_order && parts_.webhooks->asked()) {
      log().info(
          "shutting down: reviews are answered until the Service's endpoints no longer name this process",
          kv("delay", api::Duration{shutdown_delay()}.to_string()));
      (void)co_await sleep(context().clock, shutdown_delay());  // cut short, it ends sooner
    }
    co_await parts_.webhooks->stop();
  }

  Task<Result<>> feed();
  Task<Result<>> feed_optional();
  /// What is absent may be taken for absent from now on.
  Task<Result<>> look_again_after(kube::AnyInformer informer);
  void take(const kube::Change& change);
  void take_optional(const kube::Change& change);
  void take_config(const api::ConfigMap* map);

  Parts parts_;
  kube::EventRecorder recorder_;
  LastGood last_good_;
  SloConfig config_;
  NodeObjects<api::NodeMetric> node_metrics_;
  NodeObjects<api::NodeSlo> node_slos_;
  NodeResources node_resources_;
  std::minstd_rand random_{std::random_device{}()};
  PodProfiles pod_profiles_;
  QuotaProfiles quota_profiles_;
  std::vector<NodeWorkers*> running_;
  kube::DeliveryQueue queue_, optional_queue_;
  Event synced_event_;
  bool synced_ = false;
  bool ending_ = false;
};

Task<Result<>> Manager::feed() {
  for (;;) {
    Result<kube::Batch> batch = co_await queue_.next();
    if (!batch) co_return batch.error();
    for (const kube::Change& change : batch->changes) take(change);
    if (!batch->synced || synced_) continue;
    synced_ = true;
    if (!config_.available()) take_config(nullptr);
    log().info("the informers of nodes have synced", kv("nodes", parts_.nodes.size()));
    synced_event_.set();
  }
}

Task<Result<>> Manager::feed_optional() {
  for (;;) {
    Result<kube::Batch> batch = co_await optional_queue_.next();
    if (!batch) co_return batch.error();
    for (const kube::Change& change : batch->changes) take_optional(change);
  }
}

Task<Result<>> Manager::look_again_after(kube::AnyInformer informer) {
  KOORD_CO_CHECK(co_await informer.wait_listed());
  node_resources_.workers().add_all(parts_.nodes);
  co_return Result<>();
}

void Manager::take_optional(const kube::Change& change) {
  if (change.is<api::Device>()) {
    const auto before = change.old_object<api::Device>(), after = change.new_object<api::Device>();
    if (!before || !after || changes_resources(*before, *after))
      node_resources_.workers().add((after ? after : before)->metadata.name);
  } else if (change.is<api::NodeResourceTopology>()) {
    const auto before = change.old_object<api::NodeResourceTopology>(),
               after = change.new_object<api::NodeResourceTopology>();
    if (!before || !after || changes_resources(*before, *after))
      node_resources_.workers().add((after ? after : before)->metadata.name);
  } else if (change.is<api::ClusterColocationProfile>()) {
    pod_profiles_.profiles_changed();
  } else if (change.is<api::ElasticQuotaProfile>()) {
    const auto after = change.new_object<api::ElasticQuotaProfile>();
    quota_profiles_.look_at(after ? *after : *change.old_object<api::ElasticQuotaProfile>());
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
    if (!before || !after || changes_totals(*before, *after)) quota_profiles_.nodes_changed();
    if (!before || !after || changes_specs(*before, *after))
      add(name);
    else if (changes_resources(*before, *after))
      node_resources_.workers().add(name);
  } else if (change.is<api::NodeMetric>()) {
    const auto before = change.old_object<api::NodeMetric>(), after = change.new_object<api::NodeMetric>();
    const std::string& name = (after ? after : before)->metadata.name;
    if (!before || !after || before->spec != after->spec) node_metrics_.workers().add(name);
    node_resources_.workers().add(name);
  } else if (change.is<api::Pod>()) {
    const auto before = change.old_object<api::Pod>(), after = change.new_object<api::Pod>();
    if (after)
      pod_profiles_.look_at(*after, before.get());
    else
      pod_profiles_.forget(*before);
    if (before && after && is_evicted_best_effort(*after) && !is_evicted_best_effort(*before)) {
      const auto node = parts_.nodes.get("", after->spec.node_name.view());
      if (node && !node->spec.unschedulable) node_resources_.evicted(node->metadata.name);
    }
    if (before && after && !changes_resources(*before, *after)) return;
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
    log().warn(config_.good().empty()
                   ? "there is no ConfigMap with the strategies; the defaults are in effect"
                   : "there is no ConfigMap with the strategies; what it said last stays in effect",
               kv("configmap", context().flags.get("slo-config-name")));
  for (const ConfigProblem& problem : update.problems) {
    std::string message = problem.message;
    if (!problem.unread_key.empty())
      message += config_.good().contains(problem.unread_key) ? "; what it said last stays in effect"
                                                             : "; the defaults stay in effect";
    log().warn("a part of the strategies' ConfigMap is invalid and was not applied",
               kv("reason", problem.reason), kv("error", message));
    if (map != nullptr && leading()) warn(*map, problem.reason, message);
  }
  if (map != nullptr && leading()) last_good_.want(config_.good());
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
  const nanoseconds shutdown_delay = flags.get_duration("shutdown-delay");
  if (shutdown_delay < nanoseconds::zero()) return Error(Code::invalid, "--shutdown-delay: below 0");
  KOORD_TRY(client, context.clients.client(settings));
  if (flags.get_bool("cleanup")) {
    KOORD_TRY(webhook, webhook_settings(flags.get("webhook-port"), environment));
    return cleaning_role(context, *client,
                         {std::move(webhook), election.resource_namespace, election.resource_name,
                          flags.get("config-namespace"), last_good_name(flags)});
  }
  kube::Scope config, unfinished;
  unfinished.fields = kUnfinishedPods;
  config.ns = flags.get("config-namespace");
  config.fields = fmt::format("metadata.name={}", flags.get("slo-config-name"));
  // Upstream has its own at /internal-metrics alone, and none at all at /external-metrics.
  for (const char* path : {"/metrics", "/internal-metrics", "/all-metrics"})
    context.routes.add_metrics(path, [&context] { return context.metrics.exposition(); });
  context.routes.add_metrics("/external-metrics", [] { return std::string(); });
  kube::InformerSet& informers = context.informers;
  const auto on_node =
      kube::index<api::Pod>("node", [](const api::Pod& pod) { return pod.spec.node_name.view(); });
  const auto waits = kube::index<api::Pod>("waits", [](const api::Pod& pod) -> std::string_view {
    return pod.spec.node_name.empty() ? "for a node" : "";
  });
  KOORD_TRY(place, webhook_settings(flags.get("webhook-port"), environment));
  KOORD_TRY(webhooks, Webhooks::make(context, *client, handlers()));
  KOORD_TRY(audit, runtime::Audit::make(context.executor, context.clock, context.log, flags));
  auto notes = std::make_unique<ChangeNotes>(*audit, context.log, flags.get("config-namespace"),
                                             flags.get("slo-config-name"));
  if (webhooks) webhooks->note_changes(*notes, *audit);
  KOORD_TRY(page, view::Page::make(
                      flags, {context.executor, context.clock, context.log, *client, context.informers}));
  HandlerContext rules{context, *client};
  Parts parts{std::move(election),
              client,
              informers.informer<api::ConfigMap>(*client, std::move(config)),
              informers.informer<api::Node>(*client),
              informers.informer<api::NodeMetric>(*client),
              informers.informer<api::NodeSlo>(*client),
              informers.informer<api::Pod>(*client, std::move(unfinished), {on_node, waits}),
              informers.informer<api::NodeResourceTopology>(*client),
              informers.informer<api::Device>(*client),
              informers.informer<api::ClusterColocationProfile>(*client),
              informers.informer<api::Namespace>(*client),
              informers.informer<api::ElasticQuotaProfile>(*client),
              informers.informer<api::ElasticQuota>(*client),
              std::move(audit),
              std::move(notes),
              std::move(webhooks),
              std::move(page),
              shutdown_delay,
              pod_rules(rules),
              std::move(place.ns)};
  return std::unique_ptr<runtime::Role>(std::make_unique<Manager>(context, std::move(parts)));
}

constexpr std::array<runtime::RoleCommand, 1> kExplain = {
    {{"explain node", "how what a node lends to batch pods came about, and why it changes",
      &run_explain_node}}};
constexpr std::array<runtime::PortFlag, 2> kPorts = {{
    {"metrics-addr", "", false, "cleanup"},
    {"health-probe-addr", "", false, "cleanup"},
}};

}  // namespace

const runtime::RoleDescriptor& role() {
  static const std::vector<metrics::Table> kMetrics = [] {
    std::vector<metrics::Table> all = {kNodeObjectMetrics, NodeResources::kMetrics, PodProfiles::kMetrics,
                                       QuotaProfiles::kMetrics, WebhookServer::kMetrics};
    all.insert(all.end(), handler_metrics().begin(), handler_metrics().end());
    return all;
  }();
  static const runtime::RoleDescriptor kRole{
      .name = "manager",
      .summary = "Turns what nodes do not use into batch and mid resources; tells every node its strategies.",
      .flags = flags(),
      .gates = gates(),
      .ports = kPorts,
      .commands = kExplain,
      .single_dash = true,
      .make = &make,
      .metrics = kMetrics,
      .docs = &docs,
      .account = "koord-manager",
      .rights = rights(),
      .webhooks = &webhook_manifests,
  };
  return kRole;
}

}  // namespace koord::manager
