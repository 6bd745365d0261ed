// Agent: see agent.hpp.
#include "setup/agent.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>

#include "framework/action/stop_group.hpp"
#include "framework/series/checkpoint.hpp"
#include "framework/serve/routes.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/system.hpp"
#include "koord/host/file.hpp"
#include "lifecycle/stand_by.hpp"
#include "plugins/blkio/terms.hpp"
#include "setup/alone.hpp"
#include "setup/gates.hpp"
#include "setup/prediction.hpp"
#include "setup/state_dirs.hpp"

#include "framework/tick/gpu_use.hpp"
#include "framework/tick/huge_use.hpp"
#include "framework/tick/interference.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kCheckpointPeriod = std::chrono::minutes(1);
/// Of pods and containers a restart needs what the default aggregate looks at.
constexpr nanoseconds kEntityWindow = std::chrono::minutes(5);
constexpr nanoseconds kGrace = std::chrono::seconds(5);
/// Below this the original neither collects nor acts.
constexpr nanoseconds kShortestInterval = std::chrono::seconds(1);
constexpr nanoseconds kShortestReport = std::chrono::milliseconds(100);
constexpr std::int64_t kLongestInterval = 86'400;  // a day, in seconds
// The names of files stay: other versions look for them.
constexpr std::string_view kJournal = "throttled", kActions = "evicted", kBirths = "births",
                           kTerway = "terway", kNetwork = "network", kGpuFaults = "gpu-faults",
                           kResctrl = "resctrl", kSeries = "koord-series", kObjects = "koord-api-server.json";
/// How long one that was killed may take to go.
constexpr nanoseconds kLockPatience = std::chrono::seconds(3);
/// How long one that --cleanup asks to end may take.
constexpr nanoseconds kEndPatience = std::chrono::seconds(15);

SeriesStore::Limits series_limits(nanoseconds interval) {
  SeriesStore::Limits limits;
  limits.period = interval;
  return limits;
}

Auditor::Options audit_options(const runtime::FlagValues& flags) {
  Auditor::Options options;
  options.log_dir = flags.get("audit-log-dir");
  options.verbosity = static_cast<int>(flags.get_int("audit-verbose"));
  options.max_disk_space_mb = static_cast<int>(flags.get_int("audit-max-disk-space-mb"));
  options.max_concurrent_readers = static_cast<int>(flags.get_int("audit-max-concurrent-readers"));
  options.max_events_limit = static_cast<int>(flags.get_int("audit-max-events-limit"));
  return options;
}

StatesSettings states_settings(const runtime::FlagValues& flags, const Place& place) {
  StatesSettings settings;
  settings.node_name = place.node_name;
  settings.sync_interval = flags.get_duration("kubelet-sync-interval");
  settings.kubelet_root = place.kubelet_root;
  settings.query_config = !flags.get_bool("disable-query-kubelet-config");
  KubeletSettings& kubelet = settings.kubelet;
  kubelet.address_type = flags.get("kubelet-preferred-address-type");
  kubelet.timeout = flags.get_duration("kubelet-sync-timeout");
  kubelet.read_only = flags.get_bool("kubelet-insecure-tls");
  kubelet.read_only_port = static_cast<std::uint16_t>(flags.get_int("kubelet-read-only-port"));
  kubelet.skip_verify = flags.get_bool("kubelet-skip-verify");
  kubelet.folder = place.root.var_lib_kubelet;
  return settings;
}

kube::EventRecorderConfig recorder_config(const std::string& node) {
  kube::EventRecorderConfig config;
  config.controller = "koordlet";
  config.instance = fmt::format("koordlet-{}", node);
  config.connections = 1;
  config.queue_limit = 1000;
  return config;
}

/// Of the machine; the flag is in percent.
Result<double> tracer_limit(const runtime::FlagValues& flags) {
  const double percent = flags.get_real("run-queue-latency-limit");
  if (!(percent >= 0 && percent <= 100))
    return Error(Code::invalid,
                 fmt::format("--run-queue-latency-limit: {} is not a percentage from 0 to 100", percent));
  return percent / 100;
}

}  // namespace

Agent::Agent(runtime::RoleContext& context, Parts parts)
    : context_(context),
      log_(context.log),
      parts_(std::move(parts)),
      dirs_(find_state_dirs(context.flags, parts_.place)),
      interval_(std::max(context.flags.get_duration("collect-res-used-interval"), kShortestInterval)),
      files_(context.executor),
      series_(series_limits(interval_)),
      processes_(parts_.cgroups, parts_.place.root.proc),
      resctrl_(parts_.cgroups, parts_.place.root),
      schedule_(context.metrics, interval_),
      tasks_(context.executor, [this](std::string_view task, const Error& error) { fail(task, error); }) {}

Result<std::unique_ptr<Agent>> Agent::make(runtime::RoleContext& context, Parts parts) {
  std::unique_ptr<Agent> agent(new Agent(context, std::move(parts)));
  KOORD_CHECK(agent->set_up());
  return agent;
}

Result<> Agent::set_up() {
  const runtime::FlagValues& flags = context_.flags;
  const std::string& node = parts_.place.node_name;
  KOORD_CHECK(lock());
  context_.metrics.set_common_label("node", node);
  external_.set_common_label("node", node);
  if (context_.gates.enabled("AuditEvents"))
    auditor_ = std::make_unique<Auditor>(audit_options(flags), context_.clock, log_);

  Executor::Options writing;
  writing.force_refresh = std::chrono::seconds(flags.get_int("resource-force-update-seconds"));
  executor_ = std::make_unique<Executor>(parts_.cgroups, files_, context_.clock, log_, context_.metrics,
                                         writing, auditor_.get());
  set_up_actions();
  set_up_processes();
  set_up_resctrl();
  KOORD_CHECK(set_up_strategies());
  if (!flags.get_bool("cleanup")) tell_of_gates(context_.gates, log_, context_.metrics);
  if (!flags.get_bool("cleanup")) restore_checkpoint();  // into series that nobody has opened yet

  SamplerConfig sampling;
  sampling.interval = interval_;
  sampling.system_outdated = flags.get_duration("collect-sys-metric-outdated-interval");
  sampling.node_info_interval = flags.get_duration("collect-node-cpu-info-interval");
  sampling.psi_interval = flags.get_duration("psi-collector-interval");
  sampling.cpi_interval = flags.get_duration("cpi-collector-interval");
  sampling.cpi_window = flags.get_duration("collect-cpi-timewindow");
  sampling.cold_page_interval = flags.get_duration("coldpage-collector-interval");
  sampling.is_on = [&gates = context_.gates](std::string_view gate) { return gates.enabled(gate); };
  KOORD_TRY(limit, tracer_limit(flags));
  sampling.tracer_limit = limit;
  sampling.page_cache = flags.get_bool("enable-pagecache-collector");
  sampling.resctrl_interval = flags.get_duration("resctrl-collector-interval");
  // The folders beside it are named after pods, which nobody knows without Kubernetes.
  if (flags.get("standalone-config").empty())
    sampling.hami_library = flags.get("hami-core-library-directory-path");
  sampling.resctrl = flags.get_bool("enable-resctrl-collector");
  sampling.idle_pages = flags.get_bool("enable-idle-page-tracking");
  if (!flags.get_bool("cleanup")) gpus_ = make_gpu_driver(context_, parts_.place);
  if (gpus_) smi_ = make_smi_watch(context_, log_, parts_.place, gpus_);
  sampler_ = std::make_unique<Sampler>(
      sampling, parts_.collectors, parts_.cgroups, parts_.place.root, series_, context_.metrics, log_,
      std::move(parts_.counters),
      CollectorLoop{&tasks_, &context_.clock, &context_.workers, gpus_.get(), auditor_.get()});

  resource_gauges_.emplace(context_.metrics, external_, context_.clock.now());
  hub_.listen([this](const std::shared_ptr<const Inventory>& now) {
    resource_gauges_->inventory(*now);
    if (schedule_.hear(*now)) news_.set();
  });
  const auto shown = [this] {
    std::vector<SourceStatus> all = sources();
    if (transports_) std::ranges::move(transports_->sources(), std::back_inserter(all));
    return all;
  };
  observer_.emplace(Observer::Parts{context_.clock, hub_, *sampler_, qos_.get(), shown, context_.version,
                                    parts_.cgroups.version()});
  if (flags.get_bool("cleanup")) {
    if (parts_.client != nullptr) set_up_states();
    return {};
  }
  if (const std::string& file = flags.get("standalone-config"); !file.empty()) {
    KOORD_CHECK(set_up_standalone(file));
  } else {
    KOORD_CHECK(set_up_kubernetes());
  }
  if (!terway_)
    if (const auto gone = withdraw_terway(); !gone)
      log_.warn("what an agent before this one told Terway stays", kv("error", gone.error()));
  tc_network_ = tc_network::TcNetwork::make(
      {context_.clock, log_, context_.workers, hub_, context_.metrics, auditor_.get()}, network_host(),
      states_ && context_.gates.enabled("TCNetworkQoS"));
  if (!tc_network_ && context_.gates.enabled("TCNetworkQoS"))
    log_.warn("the gate TCNetworkQoS has no effect without Kubernetes: nobody tells pods' addresses");
  health_.emplace(Health::Parts{
      context_.clock, log_, hub_, interval_, [this] { return observer_->last_tick(); },
      [this] { return states_ ? states_->pods_listed() : std::nullopt; }, [this] { return sources(); }});
  serve();
  return {};
}

/// Of the files that only this boot's agents can use.
BootFile::Place Agent::boot_file(std::string_view name) const {
  BootFile::Place place{.path = {}, .boot_id = parts_.boot_id};
  if (!dirs_.journal.folder.empty()) place.path = fmt::format("{}{}", dirs_.journal.folder, name);
  for (const std::string& other : dirs_.journal.others)
    place.older.push_back(fmt::format("{}{}", other, name));
  return place;
}

void Agent::set_up_actions() {
  const runtime::FlagValues& flags = context_.flags;
  const Place& place = parts_.place;
  if (parts_.client)
    recorder_.emplace(context_.executor, *parts_.client, context_.clock, recorder_config(place.node_name));
  runner_.emplace(PodRunner::Parts{tasks_, context_.clock, log_, stoppers_, parts_.cgroups, auditor_.get(),
                                   parts_.client, recorder_ ? &*recorder_ : nullptr});
  Actions::Options options;
  options.file = boot_file(kActions);
  options.only_by_api = flags.get_bool("only-evict-by-api");
  options.per_hour = flags.get_int("evictions-per-hour");
  options.own_pod = dirs_.pod;
  actions_.emplace(std::move(options), *runner_, context_.clock, log_, context_.metrics);
  const auto unfinished = actions_->load();
  if (!unfinished) {
    log_.warn("cannot read whom an earlier agent evicted", kv("error", unfinished.error()));
    return;
  }
  for (const std::string& group : *unfinished)
    if (const auto thawed = thaw_group(parts_.cgroups, group); !thawed)
      log_.warn("a group that an earlier agent was stopping may stand still", kv("group", group),
                kv("error", thawed.error()));
}

void Agent::set_up_processes() {
  for (const StrategyEntry* row : parts_.strategies) {
    if (row->sets == nullptr) continue;
    ProcessSettings::Options options;
    options.book = boot_file(row->sets->file);
    options.again =
        std::max(context_.flags.get_duration("runtime-hooks-reconcile-interval"), kShortestInterval);
    auto later = [this, kind = row->sets](std::function<void()> work, std::function<void()> done) {
      tasks_.spawn(std::string(kind->file), do_later(std::move(work), std::move(done)));
    };
    process_settings_.push_back(std::make_unique<ProcessSettings>(*row->sets, std::move(options), processes_,
                                                                  std::move(later), context_.clock, log_,
                                                                  context_.metrics, auditor_.get()));
    if (const auto loaded = process_settings_.back()->load(); !loaded)
      log_.warn(fmt::format("cannot read whose {} an earlier agent has set", row->sets->name),
                kv("error", loaded.error()));
  }
}

void Agent::set_up_resctrl() {
  ResctrlGroups::Options options;
  options.book = boot_file(kResctrl);
  auto later = [this](std::function<void()> work, std::function<void()> done) {
    tasks_.spawn(std::string(kResctrl), do_later(std::move(work), std::move(done)));
  };
  resctrl_groups_.emplace(std::move(options), resctrl_, std::move(later), context_.clock, log_,
                          auditor_.get());
  if (const auto loaded = resctrl_groups_->load(); !loaded)
    log_.warn("cannot read which groups of resctrl an earlier agent has made", kv("error", loaded.error()));
}

Task<Result<>> Agent::do_later(std::function<void()> work, std::function<void()> done) {
  std::function<Result<>()> all = [&work]() -> Result<> {
    work();
    return {};
  };
  KOORD_CO_CHECK(co_await offload(context_.workers, std::move(all)));
  done();
  co_return Result<>();
}

Result<> Agent::set_up_strategies() {
  const runtime::FlagValues& flags = context_.flags;
  QosManager::Options options;
  options.journal = boot_file(kJournal);
  options.dry_run = flags.get_list("dry-run-strategies");
  options.seconds = [&flags](std::string_view flag) -> nanoseconds {
    return std::chrono::seconds(std::clamp<std::int64_t>(flags.get_int(flag), 0, kLongestInterval));
  };
  options.is_set = [&flags](std::string_view flag) { return flags.get_bool(flag); };
  QosManager::Dependencies with{*executor_,       context_.clock, log_,
                                context_.metrics, context_.gates, [this] { return topology(); },
                                *actions_,        series_,        {}};
  for (const auto& processes : process_settings_) with.processes.push_back(processes.get());
  with.resctrl = &*resctrl_groups_;
  KOORD_TRY(qos, QosManager::make(parts_.strategies, std::move(with), std::move(options)));
  qos_ = std::move(qos);
  return {};
}

std::shared_ptr<const host::Topology> Agent::topology() const {
  if (!parts_.facts) return nullptr;
  return {parts_.facts, &parts_.facts->topology};
}

/// Says which folders there are, and makes sure that no other agent uses them.
Result<> Agent::lock() {
  const bool cleanup = context_.flags.get_bool("cleanup");
  const std::string& node = parts_.place.node_name;
  std::optional<Error> refused;
  for (const std::string& path : dirs_.locks) {
    auto taken =
        cleanup ? take_from_agent(path, {node, dirs_.pod, parts_.boot_id, kEndPatience}, context_.clock, log_)
                : HostLock::take(path, lock_holder(node, dirs_.pod), kLockPatience);
    if (taken) {
      lock_.emplace(std::move(*taken));
      locked_ = path;
      break;
    }
    const Code code = taken.error().code();
    if (code == Code::already_exists || code == Code::timeout) return taken.error();
    refused = std::move(taken).error();
  }
  if (!lock_)
    log_.warn("the host lock could not be taken: a second agent on this host would not be noticed",
              kv("error", refused ? refused->message() : "no folder can be written"));
  KOORD_CHECK(check_alone(context_.flags, parts_.place, log_));
  if (cleanup) return {};
  // Not this agent was asked to end, or it would not have come here.
  if (lock_)
    if (const auto removed = remove_stand_down(stand_down_path(locked_)); removed && *removed)
      log_.info("an earlier agent was asked to end by --cleanup; this is another one, and runs");
  log_.info("what the next agent needs is kept", kv("journal", dirs_.journal.folder),
            kv("state", dirs_.state.folder));
  if (!dirs_.journal.lasts || !dirs_.state.lasts)
    log_.warn(
        "no folder outlives the agent's pod: the next one will not know all that is held back, nor what "
        "was measured. Mount one of the host's, as upstream's DaemonSet does",
        kv("at", context_.flags.get("prediction-checkpoint-filepath")));
  return {};
}

Result<> Agent::set_up_standalone(const std::string& file) {
  standalone_.emplace(context_.executor, context_.clock, log_, hub_, file, parts_.place.node_name,
                      parts_.place.root, parts_.cgroups);
  return standalone_->load();
}

void Agent::set_up_states() {
  StatesSettings settings = states_settings(context_.flags, parts_.place);
  settings.readers = terms_readers(parts_.strategies);
  // While nobody looks after disks it is nobody's business what a pod says of them, nor what is wrong in it.
  if (!context_.gates.enabled("BlkIOReconcile")) std::erase(settings.readers, &read_block_terms);
  if (!dirs_.state.folder.empty()) settings.kept_file = fmt::format("{}{}", dirs_.state.folder, kObjects);
  states_.emplace(
      States::Parts{context_.executor, context_.clock, log_, context_.metrics, parts_.cgroups, *parts_.client,
                    context_.informers, context_.workers, parts_.credentials, hub_, *recorder_},
      settings);
}

Result<> Agent::set_up_transports() {
  KOORD_TRY(settings, transport_settings(context_.flags, parts_.place));
  KOORD_TRY(made, Transports::make(
                      {context_, parts_.strategies, hub_, *executor_, [this] { return topology(); }, tasks_,
                       [this] { return devices_ ? devices_->watch.current() : nullptr; }, *recorder_,
                       [this](std::span<const Ahead::Value> values) { return qos_->write_ahead(values); },
                       [this](std::span<const Ahead::Given> values) { return qos_->note_given(values); },
                       boot_file(kBirths)},
                      std::move(settings)));
  transports_ = std::move(made);
  runner_->ask_first(transports_->runtime());
  return {};
}

Result<> Agent::set_up_kubernetes() {
  set_up_states();
  KOORD_CHECK(set_up_transports());
  set_up_topology_report();
  if (context_.gates.enabled("BlkIOReconcile"))
    claims_.emplace(
        ClaimLookup::Parts{context_.clock, log_, *parts_.client, hub_}, &claims_of,
        [this](std::shared_ptr<const ClaimVolumes> known) { states_->set_claims(std::move(known)); });
  if (context_.gates.enabled("TerwayQoS"))
    terway_ = std::make_unique<terway_qos::TerwayFiles>(
        terway_qos::TerwayFiles::Parts{context_.clock, log_, context_.workers, hub_, auditor_.get()},
        terway_qos::folder_of(parts_.place.root), terway_mark());
  devices_ = Devices::make(context_, log_, *parts_.client, parts_.place, gpus_, boot_file(kGpuFaults));
  if (!context_.flags.get_bool("enable-node-metric-report")) return {};
  KOORD_TRY(prediction, read_prediction(context_.flags));
  predictor_.emplace(Predictor::Parts{context_.clock, log_, context_.workers, series_}, prediction,
                     find_predictions(context_.flags, dirs_));
  predictor_->restore();
  reporter_.emplace(
      Reporter::Parts{context_.clock, log_, context_.metrics, external_, *parts_.client, context_.informers,
                      hub_, series_, *predictor_, [this] { return observer_->last_tick(); },
                      [this] { return states_->pods_listed(); },
                      [this] { return sampler_->view().find<Interference>(); },
                      [this] { return sampler_->view().find<GpuUse>(); },
                      [this] { return sampler_->view().find<HugeUse>(); }},
      parts_.place.node_name, context_.gates.enabled("NodeMetricPromMetrics"));
  return {};
}

void Agent::set_up_topology_report() {
  const runtime::FlagValues& flags = context_.flags;
  const nanoseconds interval = flags.get_duration("node-topology-sync-interval");
  if (!context_.gates.enabled("NodeTopologyReport") || interval.count() <= 0) return;
  TopologyReporter::Parts parts{context_.clock,     log_, *parts_.client,
                                context_.informers, hub_, [this] { return parts_.facts; }};
  topology_reporter_.emplace(
      std::move(parts),
      TopologyReporter::Settings{parts_.place.node_name, std::max(interval, kShortestReport),
                                 !flags.get_bool("disable-query-kubelet-config")});
}

void Agent::serve() {
  Auditor* const events = context_.gates.enabled("AuditEventsHTTPHandler") ? auditor_.get() : nullptr;
  add_routes(context_.routes,
             {context_.metrics, external_, *observer_, events, context_.flags.get("api-access") == "all"});
  context_.health.add("tick", [this] { return health_->ticks(); });
  context_.health.add(
      states_ ? "kubelet" : "inventory", [this] { return health_->inventory(); },
      runtime::HealthChecks::readyz);
  if (standalone_)
    context_.health.add(
        "controllers", [this] { return standalone_->controllers(); }, runtime::HealthChecks::readyz);
}

std::vector<SourceStatus> Agent::sources() const {
  if (states_) return states_->sources();
  if (standalone_) return standalone_->sources();
  return {};
}

Task<Result<>> Agent::run() {
  if (context_.flags.get_bool("cleanup")) {
    KOORD_CO_CHECK(co_await clean_up());
    context_.finish();
    co_return co_await ended_.wait();
  }
  log_.info("the agent runs", kv("node", parts_.place.node_name),
            kv("cgroup_version", parts_.cgroups.version() == host::CgroupVersion::v2 ? "v2" : "v1"),
            kv("cgroups", parts_.place.root.cgroup), kv("standalone", standalone_.has_value()));
  if (states_) {
    tasks_.spawn("node", states_->follow_node());
    tasks_.spawn("pods", states_->follow_pods());
    tasks_.spawn("container events", states_->follow_containers());
    if (transports_) tasks_.spawn("containers that run", states_->follow_runtime(transports_->runtime()));
  }
  if (standalone_) tasks_.spawn("configuration", standalone_->follow());
  if (reporter_) {
    tasks_.spawn("report", reporter_->run());
    tasks_.spawn("prediction", predictor_->run());
  }
  if (topology_reporter_) tasks_.spawn("topology report", topology_reporter_->run());
  if (claims_) tasks_.spawn("claims", claims_->run());
  if (terway_) tasks_.spawn("Terway's files", terway_->run());
  if (tc_network_) tasks_.spawn("network", tc_network_->run());
  if (smi_) tasks_.spawn("nvidia-smi", smi_->run());
  if (devices_)
    tasks_.spawn("devices", devices_->watch.run(context_.workers, context_.clock, devices_->interval));
  if (devices_ && devices_->reporter) tasks_.spawn("device report", devices_->reporter->run());
  if (transports_) transports_->start();
  if (context_.flags.get_duration("collect-res-used-interval") >= kShortestInterval)
    tasks_.spawn("tick", tick());
  else
    log_.warn("nothing is collected and no strategy runs: --collect-res-used-interval is below 1s");
  if (!checkpoint_.empty()) tasks_.spawn("checkpoint", keep_checkpoint());
  if (lock_) tasks_.spawn("cleanup", end_for_cleanup());
  health_->tell_service_manager("READY=1");
  if (health_->has_watchdog()) tasks_.spawn("watchdog", health_->feed_watchdog());
  const Result<> ended = co_await ended_.wait();
  co_await begin_cleanup();
  health_->tell_service_manager("STOPPING=1");
  co_await tasks_.stop(context_.clock, kGrace);
  if (transports_) co_await transports_->stop();
  if (recorder_) co_await recorder_->stop();
  if (!checkpoint_.empty()) (void)co_await save_checkpoint();  // which has logged what is wrong
  if (failure_) co_return *failure_;
  co_return ended;
}

BootFile::Place Agent::terway_mark() const { return terway_qos::mark_at(boot_file(kTerway)); }

tc_network::Host Agent::network_host() const {
  return {parts_.place.root, parts_.cgroups.version(), boot_file(kNetwork)};
}

Task<Result<>> Agent::end_for_cleanup() {
  KOORD_CO_TRY(by, co_await asked_to_end(context_.clock, locked_, parts_.boot_id, dirs_.pod));
  log_.info("the agent ends, so that the host can be cleaned up", kv("asked_by", by));
  context_.finish();
  co_return Result<>();
}

void Agent::fail(std::string_view what, const Error& error) {
  if (failure_) return;
  log_.error("the agent ends", kv("task", what), kv("error", error));
  failure_ = error;
  ended_.set();
}

Task<Result<>> Agent::tick() {
  TickView view;  // its memory is used again
  for (;;) {
    const MonoTime now = context_.clock.mono();
    schedule_.begin(now);
    view = sampler_->tick(hub_.current(), now, context_.clock.now());
    view.pods_listed = states_ ? states_->pods_listed() : std::optional(now);  // a file is what it is
    if (view.facts) parts_.facts = view.facts;
    if (predictor_) predictor_->tick(view);
    if (transports_) transports_->tick();
    qos_->tick(view);
    KOORD_CO_CHECK(co_await rest());
  }
}

/// Until the next tick: what the inventory says meanwhile may have it begin sooner.
Task<Result<>> Agent::rest() {
  for (;;) {
    news_.reset();
    const nanoseconds left = schedule_.next() - context_.clock.mono();
    if (left <= nanoseconds(0)) co_return Result<>();
    KOORD_CO_CHECK(co_await news_.wait_for(context_.clock, left));
  }
}

void Agent::restore_checkpoint() {
  if (dirs_.state.folder.empty()) return;
  checkpoint_ = fmt::format("{}{}", dirs_.state.folder, kSeries);
  std::string path = checkpoint_;
  for (const std::string& other : dirs_.state.others)
    if (!host::exists(path)) path = fmt::format("{}{}", other, kSeries);
  const CheckpointStamp stamp{context_.clock.mono(), context_.clock.now(), parts_.boot_id};
  const auto restored = read_checkpoint(path, stamp, series_);
  if (!restored)
    log_.warn("the checkpoint of samples cannot be used: measuring starts without history",
              kv("error", restored.error()));
  if (restored && *restored > 0) log_.info("measuring goes on from a checkpoint", kv("series", *restored));
}

Task<Result<>> Agent::save_checkpoint() {
  const CheckpointStamp stamp{context_.clock.mono(), context_.clock.now(), parts_.boot_id};
  std::string bytes;
  series_.save(stamp, kEntityWindow, bytes);
  std::function<Result<>()> write = [path = checkpoint_, &bytes] { return write_checkpoint(path, bytes); };
  const Result<> written = co_await offload(context_.workers, std::move(write));
  if (!written && written.error().code() == Code::cancelled) co_return written;
  if (!written && !checkpoint_refused_)
    log_.warn("the checkpoint cannot be written, a restart will begin anew", kv("error", written.error()));
  checkpoint_refused_ = !written;
  co_return Result<>();
}

Task<Result<>> Agent::keep_checkpoint() {
  for (;;) {
    KOORD_CO_CHECK(co_await sleep(context_.clock, kCheckpointPeriod));
    KOORD_CO_CHECK(co_await save_checkpoint());
  }
}

}  // namespace koord::koordlet
