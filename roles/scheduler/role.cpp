// The scheduler as a role: everything is made here, in the order in which it depends on each other.
#include "role.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>

#include "docs.hpp"
#include "drive/catch_up.hpp"
#include "drive/engine_thread.hpp"
#include "drive/telemetry.hpp"
#include "explain/command.hpp"
#include "extenders/extender_calls.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/async/event.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/base/system.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/leading_role.hpp"
#include "koord/runtime/write_config.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/gates.hpp"
#include "koord/scheduling/config/kube_gates.hpp"
#include "koord/scheduling/config/unserved.hpp"
#include "koord/scheduling/engine/attempt_log.hpp"
#include "koord/scheduling/engine/feed.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "koord/scheduling/plugin/network_topology.hpp"
#include "koord/scheduling/plugin/telling_plugin.hpp"
#include "koord/scheduling/plugins.hpp"
#include "options/flags.hpp"
#include "rights.hpp"
#include "serve/services.hpp"
#include "write/writer.hpp"

namespace koord::scheduler {

namespace {

/// Decisions on their way to the API server at a time: thrice its connections, so that none of them is idle
/// while the engine is woken. More would only make a pod of high priority wait behind them, and each takes
/// 7 KiB.
constexpr std::size_t kWindow = 96;
/// So many of them must be through before new ones are decided: the engine's thread is woken for a batch.
constexpr std::size_t kRefill = kWindow / 4;
/// After changes were handed to the engine, those that come within this time are handed over together.
constexpr nanoseconds kGather = std::chrono::milliseconds(5);
/// What is on its way when the role stops may take this long, and before it the engine's present decision.
constexpr nanoseconds kGrace = std::chrono::seconds(5), kEngineGrace = std::chrono::seconds(2);

/// A plugin's, under its name.
struct Controller {
  std::string_view plugin;
  std::unique_ptr<scheduling::PluginController> controller;
};

struct Parts {
  scheduling::Configuration configuration;
  std::unique_ptr<scheduling::Engine> engine;
  kube::Client* client;
  kube::Client* event_client;
  kube::Informer<api::Node> nodes;
  kube::Informer<api::Pod> pods;
  /// What the profiles' plugins watch; of a kind that they read in parts one for each.
  std::multimap<const kube::ObjectType*, kube::AnyInformer> others;
  std::vector<Controller> controllers;
  std::unique_ptr<ExtenderCalls> extenders;
  std::string host_name;
  bool checks_pods;
};

class Scheduler final : public runtime::LeadingRole, private WriterServices {
 public:
  Scheduler(runtime::RoleContext& context, Parts parts)
      : LeadingRole(context, {.election = parts.configuration.config.leader_election,
                              .client = parts.client,
                              .host_name = parts.host_name}),
        parts_(std::move(parts)),
        profiles_(&parts_.engine->profiles()),
        placed_(&parts_.engine->placed()),
        telemetry_(context.metrics, parts_.engine->profiles()),
        attempts_(
            static_cast<std::size_t>(std::max<std::int64_t>(0, context.flags.get_int("remembered-pods")))),
        services_({.engine = [this] { return engine_ ? &*engine_ : nullptr; },
                   .leading = [this] { return leading(); },
                   .attempts = attempts_,
                   .clock = context.clock,
                   .log = context.log,
                   .flags = {.scores = context.flags.get_int("debug-scores"),
                             .filters = context.flags.get_bool("debug-filters"),
                             .diagnosis = context.flags.get_bool("debug-diagnosis")},
                   .plugin_paths = service_paths(parts_.engine->profiles())}),
        controllers_(context.executor,
                     [this](std::string_view plugin, const Error& error) { fail(plugin, error); }) {
    for (const scheduling::Profile& profile : *profiles_)
      for (const scheduling::Profile::Named& named : profile.plugins) {
        if (auto* counts = dynamic_cast<scheduling::MeasuredPlugin*>(named.plugin.get()))
          counts->measure(context.metrics);
        if (const auto* tells = dynamic_cast<scheduling::FailureEventPlugin*>(named.plugin.get()))
          tellers_.emplace_back(profile.scheduler_name, tells);
      }
    services_.add_to(context.routes);
    context.metrics.on_scrape(
        [this] { telemetry_.gauges(last_report_, writer_ ? writer_->in_flight() : 0); });
    // Ready means that all nodes and pods are known: what is decided then is decided with the whole picture.
    context.health.add(
        "informer-sync", [this] { return synced_check(); },
        runtime::HealthChecks::readyz | runtime::HealthChecks::told);
    context.health.add(
        "engine", [this] { return engine_ ? engine_->check() : Result<>(); },
        runtime::HealthChecks::healthz | runtime::HealthChecks::livez);
  }
  ~Scheduler() override {
    if (timer_ != 0) context().clock.cancel(timer_);
  }

 private:
  void start() override;
  /// The lease is held and renewed while the informers still sync; decisions wait for them.
  Task<Result<>> lead() override;
  /// The lease of a scheduler whose engine is stuck runs out: another one may decide.
  Result<> healthy() override { return engine_->check(); }
  /// Nothing new is decided, what is on its way is finished.
  Task<> stop() override;
  Task<Result<>> feed();
  /// Returns when the engine was handed what the leader before wrote.
  Task<Result<>> take_over();
  /// Looks at how long the engine is at one attempt.
  Task<Result<>> monitor(nanoseconds period, nanoseconds timeout);
  void on_report(EngineReport report);
  /// Says of each kind that is not known yet why.
  Result<> synced_check() const;

  // WriterServices
  kube::EventRecorder& events(std::string_view profile) override { return *recorders_.find(profile)->second; }
  const scheduling::PlacedKinds& placed() const override { return *placed_; }
  kube::Object find(const kube::ObjectType& type, std::string_view ns, std::string_view name) const override;
  bool may_write() const override { return leading(); }
  std::string unserved(std::string_view profile, const api::Pod& pod) const override;
  std::vector<scheduling::FailureEventPlugin::Event> also_told(std::string_view profile, const api::Pod& pod,
                                                               std::string_view message) const override;
  void binding_ended(std::shared_ptr<const api::Pod> pod, bool bound) override {
    post(BindingEnded{std::move(pod), bound});
  }
  void preempted(std::shared_ptr<const api::Pod> pod, bool all) override {
    post(VictimsAsked{std::move(pod), all});
  }
  void answered(std::shared_ptr<const api::Pod> pod,
                std::shared_ptr<const scheduling::ExtenderAnswer> answer) override {
    post(ExtendersAnswered{std::move(pod), std::move(answer)});
  }
  void done() override {
    if (++written_ < kRefill || !engine_) return;
    engine_->permit(std::exchange(written_, 0));
  }
  void post(EngineChange change) {
    if (engine_) engine_->post(std::move(change));
  }

  Parts parts_;
  const std::vector<scheduling::Profile>* profiles_;  // the engine's; their plugins are its thread's alone
  const scheduling::PlacedKinds* placed_;             // the engine's, constant
  /// Of them those that tell of failures, by their profile's name.
  std::vector<std::pair<std::string_view, const scheduling::FailureEventPlugin*>> tellers_;
  Telemetry telemetry_;
  scheduling::AttemptLog attempts_;
  Services services_;
  std::map<std::string, std::unique_ptr<kube::EventRecorder>, std::less<>> recorders_;
  kube::DeliveryQueue queue_;
  std::optional<Writer> writer_;
  std::optional<EngineThread> engine_;
  TaskGroup controllers_;
  EngineReport last_report_;
  Event synced_event_, handed_event_;
  TimerId timer_ = 0;
  std::size_t handed_ = 0;   // changes that the engine was given
  std::size_t written_ = 0;  // decisions whose permits the engine has not got back yet
  bool synced_ = false;
};

void Scheduler::start() {
  for (const scheduling::Profile& profile : parts_.engine->profiles()) {
    kube::EventRecorderConfig config;
    config.controller = profile.scheduler_name;
    config.instance = fmt::format("{}-{}", profile.scheduler_name, parts_.host_name);
    config.log = log();
    recorders_.emplace(profile.scheduler_name,
                       std::make_unique<kube::EventRecorder>(context().executor, *parts_.event_client,
                                                             context().clock, std::move(config)));
  }
  writer_.emplace(context().executor, WriterParts{.client = *parts_.client,
                                                  .clock = context().clock,
                                                  .log = log(),
                                                  .telemetry = telemetry_,
                                                  .role = *this,
                                                  .extenders = parts_.extenders.get(),
                                                  .checks_pods = parts_.checks_pods});
  engine_.emplace(context().executor, context().clock, std::move(parts_.engine),
                  [this](EngineReport report) { on_report(std::move(report)); });
  parts_.nodes.deliver_to(queue_);
  parts_.pods.deliver_to(queue_);
  for (auto& [type, other] : parts_.others) other.deliver_to(queue_);
  tasks().spawn("feed", feed());
  services_.apply_flags();
  const nanoseconds period = context().flags.get_duration("scheduler-monitor-period");
  if (period > nanoseconds::zero())
    tasks().spawn("monitor", monitor(period, context().flags.get_duration("scheduling-timeout")));
}

kube::Object Scheduler::find(const kube::ObjectType& type, std::string_view ns, std::string_view name) const {
  if (&type == &kube::kObjectType<api::Node>) return parts_.nodes.find(ns, name);
  if (&type == &kube::kObjectType<api::Pod>) return parts_.pods.find(ns, name);
  for (auto [it, end] = parts_.others.equal_range(&type); it != end; ++it)
    if (kube::Object found = it->second.find(ns, name)) return found;
  return nullptr;
}

Result<> Scheduler::synced_check() const {
  if (synced_) return {};
  std::string awaited;
  const auto add = [&](const kube::AnyInformer& informer) {
    if (informer.synced()) return;
    const kube::InformerStatus status = informer.status();
    awaited += fmt::format("{}{}{}{}", awaited.empty() ? ": " : "; ", status.name,
                           status.last_error.empty() ? "" : ": ", status.last_error);
  };
  add(parts_.nodes);
  add(parts_.pods);
  for (const auto& [type, other] : parts_.others) add(other);
  return Error(Code::unavailable, fmt::format("the informers have not synced{}", awaited));
}

std::string Scheduler::unserved(std::string_view name, const api::Pod& pod) const {
  if (!parts_.configuration.koordinators) return {};
  for (const scheduling::Profile& profile : *profiles_)
    if (profile.scheduler_name == name) return scheduling::unserved(profile, pod);
  return {};
}

std::vector<scheduling::FailureEventPlugin::Event> Scheduler::also_told(std::string_view profile,
                                                                        const api::Pod& pod,
                                                                        std::string_view message) const {
  std::vector<scheduling::FailureEventPlugin::Event> events;
  for (const auto& [of, plugin] : tellers_)
    if (of == profile)
      if (auto event = plugin->event_of_failure(pod, message)) events.push_back(*std::move(event));
  return events;
}

Task<Result<>> Scheduler::monitor(nanoseconds period, nanoseconds timeout) {
  for (;;) {
    KOORD_CO_CHECK(co_await sleep(context().clock, period));
    const auto seen = engine_->watch().seen();
    if (!seen) continue;
    const nanoseconds took = context().clock.mono() - seen->since;
    if (took <= timeout) continue;
    telemetry_.slow(seen->profile);
    const scheduling::PlacedName placed = scheduling::placed_name(*seen->pod);
    log().warn("a scheduling attempt takes longer than --scheduling-timeout", kv("namespace", placed.ns),
               kv(placed.word, placed.name), kv("profile", seen->profile), kv("point", seen->point),
               kv("seconds", std::chrono::duration<double>(took).count()));
  }
}

/// What the informers deliver goes to the engine as it comes.
Task<Result<>> Scheduler::feed() {
  for (;;) {
    // What the engine has no room for is merged here meanwhile. The first picture is taken as a whole: it is
    // as large as the cluster, and under a storm of changes there might be no end to it in parts.
    KOORD_CO_CHECK(co_await engine_->room());
    Result<kube::Batch> batch = co_await queue_.next(synced_ ? EngineThread::kBacklog : SIZE_MAX);
    if (!batch) co_return batch.error();
    std::vector<EngineChange> changes;
    changes.reserve(batch->changes.size());
    for (kube::Change& c : batch->changes) {
      if (c.is<api::Node>()) {
        auto now = c.new_object<api::Node>();
        changes.emplace_back(NodeChange{now ? now : c.old_object<api::Node>(), !now});
      } else if (c.is<api::Pod>()) {
        auto now = c.new_object<api::Pod>();
        changes.emplace_back(PodChange{now ? now : c.old_object<api::Pod>(), !now});
      } else {
        changes.emplace_back(ObjectChange{std::move(c)});
      }
    }
    if (batch->synced && !synced_) changes.emplace_back(AllSynced{});
    engine_->post(std::move(changes));
    handed_ += batch->changes.size();
    handed_event_.set();
    if (batch->synced && !synced_) {
      synced_ = true;
      log().info("the informers of nodes and pods have synced", kv("nodes", parts_.nodes.size()),
                 kv("pods", parts_.pods.size()));
      synced_event_.set();
    }
    KOORD_CO_CHECK(co_await sleep(context().clock, kGather));
  }
}

Task<Result<>> Scheduler::take_over() {
  const nanoseconds limit = context().flags.get_duration("sync-hard-timeout");
  if (!parts_.configuration.config.leader_election.leader_elect.value_or(true) ||
      limit <= nanoseconds::zero())
    co_return Result<>();
  // Those in which a leader writes down what it has given away; others may be behind, as they always are.
  std::vector<kube::AnyInformer> given{parts_.pods};
  for (auto& [type, other] : parts_.others)
    if (type == &kube::kObjectType<api::PersistentVolumeClaim> ||
        type == &kube::kObjectType<api::PersistentVolume> || type == &kube::kObjectType<api::ResourceClaim> ||
        placed_->of(*type) != nullptr)
      given.push_back(other);
  KOORD_CO_CHECK(co_await catch_up(context().clock, log(), std::move(given), limit));
  // Changes are handed over in order; under a storm of them the queue may never be empty.
  const std::size_t all = handed_ + queue_.size();
  while (handed_ < all && queue_.size() > 0) {
    handed_event_.reset();
    KOORD_CO_CHECK(co_await handed_event_.wait());
  }
  co_return Result<>();
}

Task<Result<>> Scheduler::lead() {
  KOORD_CO_CHECK(co_await synced_event_.wait());
  KOORD_CO_CHECK(co_await take_over());
  engine_->permit(kWindow);
  for (Controller& c : parts_.controllers)
    controllers_.spawn(std::string(c.plugin),
                       c.controller->run({*parts_.client, context().clock, log(),
                                          [this] { return leading(); }, context().metrics}));
  co_return Result<>();
}

void Scheduler::on_report(EngineReport report) {
  std::vector<scheduling::Decision> decisions = std::move(report.decisions);
  report.decisions.clear();
  telemetry_.counted(report);
  last_report_ = std::move(report);
  if (timer_ != 0) context().clock.cancel(timer_);
  timer_ = 0;
  if (last_report_.wakeup)
    timer_ = context().clock.call_at(*last_report_.wakeup, [this] {
      timer_ = 0;
      engine_->wake();
    });
  const WallTime now = context().clock.now();
  for (scheduling::Decision& d : decisions) {
    attempts_.record(d, now);
    services_.log_attempt(d);
    writer_->write(std::move(d));
  }
}

Task<> Scheduler::stop() {
  if (const Result<> ended = co_await engine_->stop(kEngineGrace); !ended) {
    log().error("the scheduling engine did not stop in time: the process ends without it",
                kv("error", ended.error()));
    context().left_behind();
  }
  if (timer_ != 0) context().clock.cancel(timer_);
  timer_ = 0;
  co_await controllers_.stop(context().clock, kGrace);
  co_await writer_->stop(kGrace);
  for (auto& [profile, recorder] : recorders_) co_await recorder->stop();
}

/// What plugins cannot use of objects.
scheduling::Complaints::Tell complaints(const runtime::RoleContext& context) {
  return [log = context.log](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
    log.warn("what an object says cannot be used", kv("kind", kind),
             kv("namespace", object.namespace_.view()), kv("name", object.name), kv("error", what));
  };
}

scheduling::Transforms transforms(const runtime::RoleContext& context) {
  const scheduling::TransformGates gates{
      .priority = context.gates.enabled("PriorityTransformer"),
      .preemption_policy = context.gates.enabled("PreemptionPolicyTransformer"),
      .replace_resources = context.gates.enabled("ReplaceResourcesTransformer")};
  return scheduling::Transforms(
      gates,
      [log = context.log](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
        log.warn("a malformed annotation of Koordinator is ignored", kv("kind", kind),
                 kv("namespace", object.namespace_.view()), kv("name", object.name), kv("error", what));
      });
}

Result<std::unique_ptr<scheduling::Engine>> make_engine(const scheduling::Configuration& c,
                                                        const runtime::RoleContext& context,
                                                        scheduling::PluginTable table) {
  const scheduling::KubeSchedulerConfiguration& config = c.config;
  scheduling::EngineOptions options;
  options.queue.initial_backoff = std::chrono::seconds(*config.pod_initial_backoff_seconds);
  options.queue.max_backoff = std::chrono::seconds(*config.pod_max_backoff_seconds);
  options.queue.max_unschedulable = context.flags.get_duration("pod-max-in-unschedulable-pods-duration");
  options.queue.pop_from_backoff = context.gates.enabled(scheduling::kPopFromBackoff);
  options.foreign_nominations = context.gates.enabled("CrossSchedulerNomination");
  options.nominate_expected = context.gates.enabled(scheduling::kNominateExpected);
  auto seed = static_cast<std::uint64_t>(context.flags.get_int("seed"));
  options.seed = seed != 0 ? seed : (std::uint64_t{std::random_device()()} << 32 | std::random_device()());
  const std::int64_t class_memory = context.flags.get_int("class-memory-per-node");
  if (class_memory < 0) return Error(Code::invalid, "--class-memory-per-node: must not be negative");
  options.class_memory.per_node = static_cast<std::size_t>(class_memory);
  options.extenders = scheduling::ExtenderInterest(config.extenders);
  auto engine = std::make_unique<scheduling::Engine>(context.clock, options);
  engine->context().shared.get<scheduling::NetworkTopologyUse>().enabled =
      context.flags.get_bool("enable-network-topology-manager");
  auto profiles = scheduling::build_profiles(config, table, engine->context(), context.gates);
  if (!profiles) return std::move(profiles).error().context("initializing profiles");
  for (const scheduling::Profile& profile : *profiles)
    if (!profile.missing.empty())
      context.log.info("plugins that koord does not have yet are left out",
                       kv("profile", profile.scheduler_name),
                       kv("plugins", fmt::format("{}", fmt::join(profile.missing, " "))));
  if (c.koordinators && !context.flags.get_bool("bind-unserved-pods"))
    for (scheduling::Profile& profile : *profiles) scheduling::refuse_unserved(profile);
  engine->set_profiles(std::move(*profiles));
  if (c.koordinators) engine->set_transforms(transforms(context));
  engine->context().shared.get<scheduling::Complaints>().tell(complaints(context));
  return engine;
}

/// Whether --controller-plugins names it: of its name and "-" with its name the first counts, else "*".
bool runs_controller(const std::vector<std::string>& enabled, std::string_view plugin) {
  bool all = false;
  for (const std::string_view each : enabled) {
    if (each == plugin) return true;
    if (each.starts_with('-') && each.substr(1) == plugin) return false;
    all = all || each == "*";
  }
  return all;
}

/// Of each plugin that has one and is to run it, whichever profiles it is in.
std::vector<Controller> make_controllers(scheduling::Engine& engine, kube::InformerSet& informers,
                                         kube::Client& client, const std::vector<std::string>& enabled) {
  std::vector<Controller> made;
  for (const scheduling::Profile& profile : engine.profiles())
    for (const scheduling::Profile::Named& named : profile.plugins) {
      auto* plugin = dynamic_cast<scheduling::ControllerPlugin*>(named.plugin.get());
      const auto is = [&](const Controller& c) { return c.plugin == named.name; };
      if (plugin != nullptr && runs_controller(enabled, named.name) &&
          std::none_of(made.begin(), made.end(), is))
        made.push_back({named.name, plugin->make_controller(informers, client)});
    }
  return made;
}

Result<std::unique_ptr<runtime::Role>> make(runtime::RoleContext& context) {
  return make_role(context, scheduling::plugin_table());
}

constexpr std::array<runtime::RoleCommand, 1> kCommands = {
    {{"explain", "why a pod or a reservation is where it is, or nowhere, and what would have to change",
      &explain::run_explain}}};
constexpr std::array<runtime::PortFlag, 2> kPorts = {{
    {"secure-port", "bind-address", true},
    {"port", "address", false},
}};

}  // namespace

Result<std::unique_ptr<runtime::Role>> make_role(runtime::RoleContext& context,
                                                 scheduling::PluginTable table) {
  if (Result<> fit = scheduling::check_gates(context.gates); !fit)
    return std::move(fit).error().context("--feature-gates");
  KOORD_TRY(configuration, read_configuration(context.flags, context.gates));
  std::vector<std::string> gates;
  for (const FeatureGates::State& gate : context.gates.list())
    if (gate.enabled != gate.gate->enabled && !scheduling::gate_has_effect(*gate.gate))
      gates.push_back(fmt::format("{}={}{}", gate.gate->name, gate.enabled,
                                  gate.gate->help.empty() ? "" : fmt::format(" ({})", gate.gate->help)));
  if (!gates.empty())
    context.log.warn("feature gates have no effect in this version",
                     kv("gates", fmt::format("{}", fmt::join(gates, ", "))));
  KOORD_TRY(engine, make_engine(configuration, context, table));
  if (const std::string& file = context.flags.get("write-config-to"); !file.empty()) {
    // In a file 0 is the default; no limit, as without a file, is negative.
    double& qps = configuration.config.client_connection.qps;
    if (qps == 0) qps = -1;
    KOORD_CHECK(runtime::write_config(api::encode(configuration.config), file));
    context.log.info("the configuration is written", kv("file", file));
    return runtime::finished(context);
  }
  runtime::ClientSettings settings =
      runtime::client_settings(configuration.config.client_connection, context.flags.get("master"));
  KOORD_TRY(client, context.clients.client(settings));
  // Events have a limit of their own, so that they do not hold up bindings.
  settings.user_agent = fmt::format("koord-scheduler-events/{}", context.version);
  KOORD_TRY(event_client, context.clients.client(settings));
  std::unique_ptr<ExtenderCalls> extenders;
  if (!configuration.config.extenders.empty()) {
    KOORD_TRY(made, ExtenderCalls::make(context.executor, context.clock, context.log, *client,
                                        context.workers, configuration.config.extenders));
    extenders = std::move(made);
  }
  context.routes.set_configz("componentconfig", api::encode(configuration.config));

  kube::Scope unfinished;
  unfinished.fields = "status.phase!=Succeeded,status.phase!=Failed";
  auto nodes = context.informers.informer<api::Node>(*client);
  auto pods = context.informers.informer<api::Pod>(*client, unfinished);
  auto others = scheduling::watch(*engine, context.informers, *client);
  std::vector<Controller> controllers =
      make_controllers(*engine, context.informers, *client, context.flags.get_list("controller-plugins"));
  const bool checks_pods = configuration.koordinators && context.gates.enabled("DynamicSchedulerCheck");
  return std::unique_ptr<runtime::Role>(std::make_unique<Scheduler>(
      context, Parts{std::move(configuration), std::move(engine), client, event_client, std::move(nodes),
                     std::move(pods), std::move(others), std::move(controllers), std::move(extenders),
                     host_name(), checks_pods}));
}

const runtime::RoleDescriptor& role() {
  static const std::vector<metrics::Table> kMetrics = [] {
    std::vector<metrics::Table> all{Telemetry::kMetrics};
    const auto plugins = scheduling::plugin_metrics();
    all.insert(all.end(), plugins.begin(), plugins.end());
    return all;
  }();
  static const runtime::RoleDescriptor kRole{
      .name = "scheduler",
      .summary = "Places pods on nodes: kube-scheduler's job, and Koordinator's.",
      .flags = flags(),
      .gates = scheduling::gates(),
      .ports = kPorts,
      .commands = kCommands,
      .make = &make,
      .metrics = kMetrics,
      .docs = &docs,
      .account = "koord-scheduler",
      .rights = rights(),
  };
  return kRole;
}

}  // namespace koord::scheduler
