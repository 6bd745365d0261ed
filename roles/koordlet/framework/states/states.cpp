// States: see states.hpp.
#include "framework/states/states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "framework/objects/slo.hpp"
#include "framework/states/cpu_manager.hpp"
#include "framework/states/kept_objects.hpp"
#include "framework/states/sandbox.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/file.hpp"
#include "koord/base/text.hpp"
#include "koord/kube/client.hpp"

namespace koord::koordlet {

namespace {

/// Container events ask at once, within these limits.
constexpr double kEventQps = 5;
constexpr int kEventBurst = 10;
/// A container's group is made some time before it runs: the runtime is asked after so long, and so often.
constexpr nanoseconds kStarts = std::chrono::milliseconds(150);
constexpr int kRuntimeAsks = 3;
constexpr double kRuntimeQps = 2;
constexpr int kRuntimeBurst = 4;
constexpr nanoseconds kRuntimePatience = std::chrono::seconds(1);
constexpr std::size_t kMaxCpuManagerState = 1 << 20;
/// A new cgroup shows up before the kubelet tells of its container: it is asked again so soon, so often.
constexpr nanoseconds kFollowUp = std::chrono::seconds(1);
constexpr int kFollowUps = 3;
/// The kubelet's configuration changes with its restart only, which may be too short to be seen.
constexpr nanoseconds kConfigPeriod = std::chrono::minutes(1), kConfigRetry = std::chrono::seconds(30);

/// The kubelet's last list is not what there is any more, so long after it, or after so many polls.
constexpr nanoseconds kStaleAfter = std::chrono::minutes(1);
constexpr int kStalePolls = 3;

kube::Scope own(const std::string& node) {
  kube::Scope scope;
  scope.fields = fmt::format("metadata.name={}", node);
  return scope;
}

}  // namespace

States::States(Parts parts, StatesSettings settings)
    : parts_(std::move(parts)),
      settings_(std::move(settings)),
      nodes_(parts_.informers.informer<api::Node>(parts_.client, own(settings_.node_name))),
      slos_(parts_.informers.informer<api::NodeSlo>(parts_.client, own(settings_.node_name))),
      kubelet_(parts_.executor, parts_.clock, parts_.metrics, settings_.kubelet, parts_.credentials),
      events_(parts_.executor, parts_.cgroups,
              [this] {
                follow_ups_ = kFollowUps;
                wake_.set();
                came_.set();
              }),
      limit_(kEventQps, kEventBurst),
      runtime_limit_(kRuntimeQps, kRuntimeBurst) {
  node_.name = settings_.node_name;
  kubelet_root_ = settings_.kubelet_root;
  nodes_.deliver_to(queue_);
  slos_.deliver_to(queue_);
}

States::~States() = default;

Task<Result<>> States::wait_known() { return known_.wait(); }

std::vector<SourceStatus> States::sources() const {
  SourceStatus api = api_;
  for (const kube::InformerStatus& status : {nodes_.status(), slos_.status()})
    if (!status.last_error.empty()) {
      api.ok = false;
      api.error = status.last_error;
    }
  return {api, kubelet_status_};
}

void States::note(SourceStatus& source, const Result<>& result) {
  if (result) {
    if (!source.ok && !source.error.empty()) parts_.log.info("it answers again", kv("source", source.name));
    source.ok = true;
    source.error.clear();
    source.last_good = parts_.clock.now();
    return;
  }
  if (source.error != result.error().message())
    parts_.log.warn(
        "a source of the node's state did not answer as expected: what it said last stays in effect",
        kv("source", source.name), kv("error", result.error()));
  source.ok = false;
  source.error = result.error().message();
}

void States::recall() {
  if (settings_.kept_file.empty()) return;
  auto kept = read_kept(settings_.kept_file, settings_.node_name);
  if (!kept) {
    if (kept.error().code() != Code::not_found)
      parts_.log.warn("the kept copy of Node and NodeSLO cannot be used: waiting for the API server",
                      kv("error", kept.error()));
    return;
  }
  parts_.log.info("what the API server said last is in effect until it answers",
                  kv("file", settings_.kept_file), kv("node_slo", static_cast<bool>(kept->node_slo)));
  detect_driver();
  on_node(std::make_shared<const api::Node>(std::move(*kept->node)));
  node_recalled_ = true;
  if (kept->node_slo) {
    on_slo(std::make_shared<const api::NodeSlo>(std::move(*kept->node_slo)));
    slo_recalled_ = true;
  }
  publish();
}

Task<Result<>> States::remember() {
  if (settings_.kept_file.empty() || !node_object_) co_return Result<>();
  std::string text = api::encode(kept_objects(*node_object_, slo_object_.get()));
  if (text == kept_) co_return Result<>();
  std::function<Result<>()> write = [&] { return write_kept(settings_.kept_file, text); };
  const Result<> written = co_await offload(parts_.workers, std::move(write));
  if (!written && written.error().code() == Code::cancelled) co_return written;
  if (!written && !kept_refused_)
    parts_.log.warn(
        "the copy of Node and NodeSLO could not be written: an agent that starts while the API server is "
        "away will not have it",
        kv("error", written.error()));
  kept_refused_ = !written;
  kept_ = written ? std::move(text) : std::string();
  co_return Result<>();
}

Task<Result<>> States::follow_node() {
  recall();
  for (;;) {
    KOORD_CO_TRY(batch, co_await queue_.next());
    for (const kube::Change& change : batch.changes) {
      if (change.is<api::Node>()) {
        node_recalled_ = false;
        if (const auto node = change.new_object<api::Node>()) on_node(node);
      } else if (change.is<api::NodeSlo>()) {
        slo_recalled_ = false;
        on_slo(change.new_object<api::NodeSlo>());
      }
    }
    if (batch.synced && !api_synced_) {
      api_synced_ = true;
      if (std::exchange(slo_recalled_, false)) on_slo(nullptr);  // it has gone since
      if (!node_known_ || node_recalled_)
        parts_.log.warn("there is no such node on the API server", kv("node", settings_.node_name));
      if (!slo_)
        parts_.log.info("there is no NodeSLO for this node: only what pods themselves ask for is done",
                        kv("node", settings_.node_name));
    }
    if (batch.synced) note(api_, {});
    publish();
    if (batch.synced) KOORD_CO_CHECK(co_await remember());
  }
}

void States::on_node(const std::shared_ptr<const api::Node>& node) {
  node_object_ = node;
  std::vector<std::string> warnings;
  NodeInfo info = read_node(*node, warnings);
  info.static_cpu_policy = node_.static_cpu_policy;
  node_known_ = true;
  // Once while they are true: a Node is written every few seconds.
  std::set<std::string> told;
  for (std::string& warning : warnings) {
    if (!node_told_.contains(warning))
      parts_.log.warn("a malformed annotation of the node is left out", kv("annotation", warning));
    told.insert(std::move(warning));
  }
  const auto address = kubelet_address(*node, settings_.kubelet);
  if (address) {
    kubelet_.set_address(*address);
    addressed_.set();
  } else {
    std::string warning(address.error().message());
    if (!node_told_.contains(warning))
      parts_.log.warn("the kubelet cannot be asked", kv("error", address.error()));
    told.insert(std::move(warning));
  }
  node_told_ = std::move(told);
  node_ = std::move(info);
}

void States::on_slo(const std::shared_ptr<const api::NodeSlo>& slo) {
  if (!slo && slos_.status().skipped > 0) {
    parts_.log.warn("the NodeSLO cannot be read, the one before stays in effect",
                    kv("error", slos_.status().last_error));
    return;
  }
  if (slo && slo_object_ && slo->spec == slo_object_->spec) return;
  slo_object_ = slo;
  applications_.clear();
  if (!slo) {
    slo_.reset();
    parts_.log.info("the NodeSLO is gone: only what pods themselves ask for is done");
    return;
  }
  MergedSlo merged = merge_slo(slo->spec);
  slo_ = std::make_shared<const api::NodeSloSpec>(std::move(merged.spec));
  applications_ = host_applications(*slo_, driver_, merged.warnings, kubelet_root_);
  for (const std::string& warning : merged.warnings)
    parts_.log.warn("a part of the NodeSLO is invalid and was ignored", kv("what", warning));
  parts_.log.info("a NodeSLO is in effect", kv("generation", slo->metadata.generation));
}

bool States::is_stale() const {
  const nanoseconds patience = std::max(kStaleAfter, kStalePolls * settings_.sync_interval);
  return checkpoint_unread_ || !pods_listed_ || parts_.clock.mono() - *pods_listed_ > patience;
}

void States::publish() {
  own_cpus_.stale = is_stale();
  Inventory next;
  next.driver = driver_;
  next.kubelet_root = kubelet_root_;
  next.node = node_;
  next.pods = pods_;
  next.all_pods = all_pods_;
  started_.add_to(next.pods, next.all_pods, driver_, kubelet_root_, settings_.readers);
  next.own_cpus = own_cpus_;
  next.kubelet = config_;
  next.host_applications = applications_;
  next.claims = claims_;
  next.be_roots = {host::kubepods_folder(driver_, host::KubeQos::besteffort, kubelet_root_)};
  next.slo = slo_;
  next.slo_known = api_synced_;
  next.pods_known = pods_known_;
  if (node_known_ && api_synced_ && pods_known_) known_.set();
  const Inventory& now = *parts_.hub.current();
  if (now.generation > 0 && now.driver == next.driver && now.kubelet_root == next.kubelet_root &&
      now.node == next.node && now.all_pods == next.all_pods && now.own_cpus == next.own_cpus &&
      now.kubelet == next.kubelet && now.claims == next.claims && now.slo == next.slo &&
      now.slo_known == next.slo_known && now.pods_known == next.pods_known)
    return;
  parts_.hub.publish(std::move(next));
}

void States::set_claims(std::shared_ptr<const ClaimVolumes> claims) {
  claims_ = std::move(claims);
  publish();
}

void States::detect_driver() {
  if (driver_seen_) return;
  const auto found = parts_.cgroups.detect_driver(kubelet_root_);
  if (!found) return;
  settle_in(*found, kubelet_root_);
  driver_seen_ = true;
}

void States::settle_in(host::CgroupDriver driver, const std::string& root) {
  if (driver == driver_ && root == kubelet_root_) return;
  driver_ = driver;
  kubelet_root_ = root;
  driver_seen_ = false;
  pods_hash_ = 0;  // their folders are others
  std::vector<std::string> told_already;
  if (slo_) applications_ = host_applications(*slo_, driver_, told_already, kubelet_root_);
}

Task<Result<>> States::follow_containers() { return events_.run(); }

/// The kubelet has its status from the runtime, once a second, and writes it down later still.
Task<Result<>> States::follow_runtime(ContainerLister& runtime) {
  came_.set();  // some may have come just before this agent
  for (;;) {
    KOORD_CO_CHECK(co_await came_.wait());
    for (int ask = 0; ask < kRuntimeAsks; ++ask) {
      came_.reset();
      KOORD_CO_CHECK(co_await sleep(parts_.clock, kStarts));
      if (const nanoseconds wait = runtime_limit_.take(parts_.clock.mono()); wait.count() > 0)
        KOORD_CO_CHECK(co_await sleep(parts_.clock, wait));
      const auto asked = co_await ask_runtime(runtime);
      if (asked) continue;
      if (asked.error().code() == Code::cancelled) co_return asked;
      parts_.log.v(2, "the container runtime does not say what runs: the kubelet will",
                   kv("error", asked.error()));
      break;
    }
  }
}

Task<Result<>> States::ask_runtime(ContainerLister& runtime) {
  const MonoTime at = parts_.clock.mono();
  KOORD_CO_TRY(running, co_await runtime.started(kRuntimePatience));
  if (started_.take(std::move(running), at)) publish();
  co_return Result<>();
}

Task<Result<>> States::follow_pods() {
  KOORD_CO_CHECK(co_await addressed_.wait());
  for (;;) {
    if (const nanoseconds wait = limit_.take(parts_.clock.mono()); wait.count() > 0)
      KOORD_CO_CHECK(co_await sleep(parts_.clock, wait));
    wake_.reset();
    const Result<> done = co_await sync_pods();
    if (!done && done.error().code() == Code::cancelled) co_return done;
    if (done) pods_listed_ = parts_.clock.mono();
    if (started_.is_old(parts_.clock.mono())) came_.set();
    note(kubelet_status_, done);
    if (!done) tell_of_kubelet(done.error());
    publish();
    nanoseconds pause = settings_.sync_interval;
    if (follow_ups_ > 0) {
      --follow_ups_;
      pause = std::min(pause, kFollowUp);
    }
    KOORD_CO_CHECK(co_await wake_.wait_for(parts_.clock, pause));
  }
}

/// What needs somebody's hands at once, all else when it lasts. The recorder makes one event of many.
void States::tell_of_kubelet(const Error& error) {
  const bool refused = error.code() == Code::forbidden || error.code() == Code::unauthorized;
  if (!asked_since_) asked_since_ = parts_.clock.mono();
  const MonoTime good = pods_listed_.value_or(*asked_since_);
  if (!node_object_ || (!refused && parts_.clock.mono() - good < kStaleAfter)) return;
  const std::string text = fmt::format(
      "The node agent does not know the node's pods, so that limits of best-effort work stay as "
      "they are: {}",
      error.message());
  kube::EventRecord event;
  event.regarding = kube::event_object(*node_object_);
  event.type = kube::EventType::warning;
  event.reason = "KubeletDoesNotAnswer";
  event.action = "Reading";
  event.note = text;
  parts_.recorder.record(event);
}

Task<Result<>> States::sync_pods() {
  if (settings_.query_config && parts_.clock.mono() >= config_due_) co_await sync_config();
  detect_driver();
  look_at_cpu_manager();
  if (auto watched = events_.watch(driver_, kubelet_root_); !watched && !events_refused_) {
    events_refused_ = true;
    parts_.log.warn("container events come late, with the next look at the kubelet",
                    kv("error", watched.error()));
  }
  (void)events_.watch_kubelet(settings_.kubelet.folder);  // where it cannot be, resizes are found later
  KOORD_CO_TRY(body, co_await kubelet_.get("/pods/"));
  co_return co_await take_pods(std::move(body));
}

/// What a worker makes of an answer: nothing if it is the one before.
struct States::Reading {
  std::size_t hash = 0;
  std::optional<PodList> list;
};

Task<Result<>> States::take_pods(std::string body) {
  // A large list takes long, and the tick shall not wait for it.
  std::function<Result<Reading>()> read =
      [&body, before = pods_hash_, node = settings_.node_name, driver = driver_, root = kubelet_root_,
       known = all_pods_, &readers = settings_.readers, &cgroups = parts_.cgroups]() -> Result<Reading> {
    Reading reading{.hash = std::hash<std::string_view>{}(body) | 1, .list = {}};
    if (reading.hash == before) return reading;
    KOORD_TRY(list, read_pod_list(body, node, driver, root, readers));
    keep_unchanged(list, known);
    find_sandboxes(list, cgroups, driver);
    reading.list = std::move(list);
    return reading;
  };
  auto reading = co_await offload(parts_.workers, std::move(read));
  if (!reading) co_return std::move(reading).error().context(fmt::format("{}/pods/", kubelet_.where()));
  if (!reading->list) co_return Result<>();
  PodList& list = *reading->list;
  // A kubelet that has just started knows of no pod yet. Where there are no folders of pods, it is true.
  if (list.listed == 0 && events_.pod_folders() != 0)
    co_return Error(Code::invalid, fmt::format("{}/pods/: the list is empty", kubelet_.where()));
  tell(list);
  pods_ = std::move(list.pods);
  all_pods_ = std::move(list.all);
  list.own_cpus.kubelet = std::move(own_cpus_.kubelet);
  list.own_cpus.kubelet_shared = std::move(own_cpus_.kubelet_shared);
  list.own_cpus.grants = std::move(own_cpus_.grants);
  own_cpus_ = std::move(list.own_cpus);
  pods_known_ = true;
  pods_hash_ = reading->hash;
  if (!pods_.empty() && !driver_seen_ && !std::exchange(nowhere_told_, true))
    parts_.log.warn(
        "the kubelet's groups are not where they are looked for: what its pods use is not measured; where it "
        "has "
        "a cgroupRoot that its /configz does not tell, set --kubelet-cgroup-root",
        kv("group", host::kubepods_folder(driver_, host::KubeQos::guaranteed, kubelet_root_)));
  co_return Result<>();
}

void States::tell(const PodList& list) {
  const Warnings::Fresh fresh = warnings_.take(list, parts_.clock.mono());
  for (const PodWarning* warning : fresh.told) {
    const api::ObjectMeta& meta = warning->pod->metadata;
    parts_.log.warn(
        "a part of a pod is malformed and left out",
        kv("pod", utf8_prefix(fmt::format("{}/{}", meta.namespace_.view(), meta.name), kMaxWarning)),
        kv("what", warning->what));
    kube::EventRecord event;
    event.regarding = kube::event_object(*warning->pod);
    event.type = kube::EventType::warning;
    event.reason = "MalformedPodMetadata";
    event.action = "Reading";
    event.note = warning->what;
    parts_.recorder.record(event);
  }
  if (fresh.untold > 0 && !untold_)
    parts_.log.warn("more parts of pods are malformed than are told one by one", kv("more", fresh.untold));
  untold_ = fresh.untold > 0;
}

/// The kubelet writes it before it starts a container that gets CPUs for itself.
void States::look_at_cpu_manager() {
  const std::string path = fmt::format("{}cpu_manager_state", settings_.kubelet.folder);
  const auto text = read_file(path, kMaxCpuManagerState);
  auto state = text ? read_cpu_manager_state(*text) : Result<CpuManagerState>(text.error());
  checkpoint_unread_ = !state && (state.error().code() != Code::not_found || node_.static_cpu_policy);
  if (!state && state.error().code() != Code::not_found) {
    if (!std::exchange(cpu_manager_refused_, true))
      parts_.log.warn("which CPUs the kubelet gave to containers is not known, what was known last stays",
                      kv("file", path), kv("error", state.error()));
    return;
  }
  cpu_manager_refused_ = false;
  own_cpus_.kubelet_shared = state ? std::move(state->shared) : std::nullopt;
  own_cpus_.kubelet = state ? std::move(state->given) : host::CpuSet{};
  own_cpus_.grants.clear();
  if (!state) return;
  if (settings_.query_config) own_cpus_.grants = std::move(state->grants);
  node_.static_cpu_policy = state->static_policy;  // /configz may not be asked, or be another's
  // A policy is changed with the kubelet stopped, and so is what else its configuration says.
  if (config_ && config_->static_cpu_policy != state->static_policy) config_due_ = {};
}

Task<> States::sync_config() {
  config_due_ = parts_.clock.mono() + kConfigRetry;
  Result<std::string> body = co_await kubelet_.get("/configz");
  auto config = body ? read_kubelet_config(*body) : Result<KubeletConfig>(std::move(body).error());
  if (!config) {
    parts_.log.v(2, "the kubelet's configuration is not known", kv("error", config.error()));
    co_return;
  }
  config_due_ = parts_.clock.mono() + kConfigPeriod;
  node_.static_cpu_policy = config->static_cpu_policy;
  if (!config_ || *config_ != *config) config_ = std::make_shared<const KubeletConfig>(*config);
  const std::string& root = settings_.kubelet_root.empty() ? config->root : settings_.kubelet_root;
  const bool moved = root != kubelet_root_;
  settle_in(config->driver && (moved || !driver_seen_) ? *config->driver : driver_, root);
}

}  // namespace koord::koordlet
