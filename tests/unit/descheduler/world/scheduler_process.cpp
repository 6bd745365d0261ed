// SchedulerProcess: see scheduler_process.hpp.
#include "world/scheduler_process.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/flags.hpp"
#include "koord/scheduling/config/watched_scope.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "koord/scheduling/plugins.hpp"
#include "scheduler/options/flags.hpp"
#include "scheduler/role.hpp"
#include "support/tree.hpp"
#include "write/writer.hpp"

namespace koord::descheduler::world {

namespace {

using namespace std::chrono_literals;

/// The plugins and weights of the manifests' koord-scheduler-config.
constexpr std::string_view kConfig = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: LoadAwareScheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: LoadAwareSchedulingArgs
      filterExpiredNodeMetrics: false
      nodeMetricExpirationSeconds: 300
      resourceWeights: {cpu: 1, memory: 1}
      usageThresholds: {cpu: 0, memory: 0}
      estimatedScalingFactors: {cpu: 85, memory: 70}
  plugins:
    queueSort: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}]}
    preFilter: {enabled: [{name: Reservation}]}
    filter: {enabled: [{name: LoadAwareScheduling}, {name: Reservation}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: Reservation}, {name: DefaultPreemption}]}
    preScore: {enabled: [{name: Reservation}]}
    score: {enabled: [{name: LoadAwareScheduling, weight: 1}, {name: Reservation, weight: 5000}]}
    reserve: {enabled: [{name: LoadAwareScheduling}, {name: Reservation}]}
    preBind: {enabled: [{name: Reservation}, {name: DefaultPreBind}]}
    bind: {disabled: [{name: "*"}], enabled: [{name: Reservation}, {name: DefaultBinder}]}
)";

runtime::FlagValues flags_of(const std::string& config) {
  const runtime::RoleDescriptor& descriptor = scheduler::role();
  const std::string name(descriptor.name);
  auto line = runtime::parse_flags(std::vector<std::string>{"--config=" + config}, {"", {}},
                                   std::vector<runtime::FlagOwner>{{name, descriptor.flags}});
  if (!line) FAIL(line.error().message());
  return line->roles.find(name)->second;
}

}  // namespace

class SchedulerProcess::Impl final : scheduler::WriterServices {
 public:
  Impl(koord::test::Loop& loop, kube::Transport& transport, std::uint64_t seed)
      : loop_(loop),
        api_(transport, loop.clock, {.max_retries = 0}),
        events_(loop.executor(), api_, loop.clock, {.controller = "koord-scheduler", .instance = "s"}),
        nodes_(informers_.informer<api::Node>(api_)),
        pods_(informers_.informer<api::Pod>(api_, unfinished())) {
    auto configuration =
        scheduler::read_configuration(flags_of(file_ / "config"), FeatureGates(scheduler::role().gates));
    if (!configuration) FAIL(configuration.error().message());
    scheduling::EngineOptions options;
    options.seed = seed;
    engine_ = std::make_unique<scheduling::Engine>(loop.clock, options);
    auto profiles = scheduling::build_profiles(configuration->config, scheduling::plugin_table(),
                                               engine_->context(), gates_);
    if (!profiles) FAIL(profiles.error().message());
    engine_->set_profiles(std::move(*profiles));
    engine_->set_transforms(scheduling::Transforms());
    telemetry_.emplace(metrics_, engine_->profiles());
    writer_.emplace(loop.executor(), scheduler::WriterParts{.client = api_,
                                                            .clock = loop.clock,
                                                            .log = log_,
                                                            .telemetry = *telemetry_,
                                                            .role = *this,
                                                            .checks_pods = true});
    for (const auto& store : engine_->objects().stores())
      for (kube::Scope& scope : scheduling::watched_scopes(engine_->profiles(), store->type()))
        others_.emplace(&store->type(), informers_.any_informer(store->type(), api_, std::move(scope)));
    for (const scheduling::Profile& profile : engine_->profiles())
      for (const scheduling::Profile::Named& named : profile.plugins)
        if (auto* plugin = dynamic_cast<scheduling::ControllerPlugin*>(named.plugin.get()))
          controllers_.push_back(plugin->make_controller(informers_, api_));
  }
  ~Impl() override {
    loop_.clock.cancel(timer_);
    loop_.clock.cancel(soon_);
    queue_.close();
    koord::test::run_task(loop_, tasks_.stop(loop_.clock, 5s));
    koord::test::run_task(loop_, writer_->stop(5s));
    koord::test::run_task(loop_, events_.stop());
    koord::test::run_task(loop_, informers_.stop());
  }

  void start() {
    nodes_.deliver_to(queue_);
    pods_.deliver_to(queue_);
    for (auto& [type, other] : others_) other.deliver_to(queue_);
    informers_.start();
    tasks_.spawn("feed", feed());
  }
  const std::string& failure() const { return failure_; }

 private:
  static kube::Scope unfinished() {
    kube::Scope scope;
    scope.fields = "status.phase!=Succeeded,status.phase!=Failed";
    return scope;
  }

  Task<Result<>> feed() {
    for (;;) {
      KOORD_CO_TRY(batch, co_await queue_.next());
      for (const kube::Change& change : batch.changes) apply(change);
      if (batch.synced && !synced_) begin();
      decide();
    }
  }
  void apply(const kube::Change& change) {
    if (change.is<api::Node>()) {
      if (auto now = change.new_object<api::Node>()) return engine_->put_node(std::move(now));
      return engine_->remove_node(change.old_object<api::Node>()->metadata.name);
    }
    if (change.is<api::Pod>()) {
      if (auto now = change.new_object<api::Pod>()) return engine_->put_pod(std::move(now));
      return engine_->remove_pod(*change.old_object<api::Pod>());
    }
    engine_->change_object(*change.type, change.after ? change.after : change.before, !change.after);
  }
  void begin() {
    synced_ = true;
    for (const scheduling::Profile& profile : engine_->profiles())
      for (const scheduling::Profile::Named& named : profile.plugins)
        if (auto* told = dynamic_cast<scheduling::SyncedPlugin*>(named.plugin.get())) told->all_synced();
    for (auto& controller : controllers_)
      tasks_.spawn("controller", controller->run({api_, loop_.clock, log_, [] { return true; }, metrics_}));
  }
  void decide() {
    if (!synced_) return;
    std::vector<scheduling::Decision> decisions;
    while (engine_->schedule(64, decisions) > 0) {
      for (scheduling::Decision& each : decisions) writer_->write(std::move(each));
      decisions.clear();
    }
    loop_.clock.cancel(std::exchange(timer_, 0));
    if (const auto next = engine_->next_wakeup())
      timer_ = loop_.clock.call_at(std::max(*next, loop_.clock.mono() + 1ms), [this] {
        timer_ = 0;
        decide();
      });
  }
  /// Soon: the writer calls from within its own work.
  void later() {
    if (soon_ != 0) return;
    soon_ = loop_.clock.call_at(loop_.clock.mono(), [this] {
      soon_ = 0;
      decide();
    });
  }

  // WriterServices
  kube::EventRecorder& events(std::string_view) override { return events_; }
  const scheduling::PlacedKinds& placed() const override { return engine_->placed(); }
  kube::Object find(const kube::ObjectType& type, std::string_view ns, std::string_view name) const override {
    if (&type == &kube::kObjectType<api::Node>) return nodes_.find(ns, name);
    if (&type == &kube::kObjectType<api::Pod>) return pods_.find(ns, name);
    for (auto [it, end] = others_.equal_range(&type); it != end; ++it)
      if (kube::Object found = it->second.find(ns, name)) return found;
    return nullptr;
  }
  bool may_write() const override { return true; }
  std::string unserved(std::string_view, const api::Pod&) const override { return {}; }
  std::vector<scheduling::FailureEventPlugin::Event> also_told(std::string_view, const api::Pod&,
                                                               std::string_view) const override {
    return {};
  }
  void binding_ended(std::shared_ptr<const api::Pod> pod, bool bound) override {
    if (bound)
      engine_->binding_succeeded(*pod);
    else
      engine_->binding_failed(*pod);
    later();
  }
  void preempted(std::shared_ptr<const api::Pod> pod, bool all) override {
    engine_->preempted(*pod, all);
    later();
  }
  void answered(std::shared_ptr<const api::Pod> pod,
                std::shared_ptr<const scheduling::ExtenderAnswer> answer) override {
    engine_->answered(*pod, std::move(answer));
  }
  void done() override {}

  koord::test::Loop& loop_;
  koord::testing::Tree file_{{"config", std::string(kConfig)}};
  CapturedLog captured_;
  Logger log_{captured_, loop_.clock};
  metrics::Registry metrics_;
  FeatureGates gates_{scheduler::role().gates};
  kube::Client api_;
  kube::EventRecorder events_;
  kube::DeliveryQueue queue_;
  kube::InformerSet informers_{loop_.executor(), loop_.clock};
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::Pod> pods_;
  std::multimap<const kube::ObjectType*, kube::AnyInformer> others_;
  std::unique_ptr<scheduling::Engine> engine_;
  std::optional<scheduler::Telemetry> telemetry_;
  std::string failure_;
  std::optional<scheduler::Writer> writer_;
  std::vector<std::unique_ptr<scheduling::PluginController>> controllers_;
  TaskGroup tasks_{loop_.executor(), [this](std::string_view task, const Error& error) {
                     failure_ = std::string(task) + ": " + error.message();
                   }};
  TimerId timer_ = 0, soon_ = 0;
  bool synced_ = false;
};

SchedulerProcess::SchedulerProcess(koord::test::Loop& loop, kube::Transport& transport, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(loop, transport, seed)) {}
SchedulerProcess::~SchedulerProcess() = default;
void SchedulerProcess::start() { impl_->start(); }
const std::string& SchedulerProcess::failure() const { return impl_->failure(); }

}  // namespace koord::descheduler::world
