// Desk: see desk.hpp.
#include "framework/hooks/desk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "framework/hooks/requested_pod.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

namespace {

using host::Knob;

constexpr metrics::Metric kInvoked{.name = "koordlet_runtime_hook_invoked_duration_milliseconds",
                                   .type = metrics::Type::histogram,
                                   .help = "How long a runtime hook took to answer a runtime's request.",
                                   .labels = {"hook", "stage", "status"},
                                   .bounds = metrics::exponential_bounds(0.01, 4, 8)};
constexpr metrics::Metric kRequests{
    .name = "koordlet_runtime_requests_total",
    .help =
        "Requests of container runtimes: changed, unchanged (no hook had anything to say), partial (not "
        "everything was known that the answer needs) or refused.",
    .labels = {"transport", "stage", "outcome"}};

/// What stages are called by Koordinator, and at which moment each is; in the order of the service.
struct StageRow {
  std::string_view name;
  std::optional<RuntimeMoment> moment;
  bool answered = false;  // a hook has a say then
};
constexpr std::array<StageRow, 8> kStages = {{
    {"PreRunPodSandbox", RuntimeMoment::run_sandbox, true},
    {"PostStopPodSandbox", RuntimeMoment::stop_sandbox},
    {"PreCreateContainer", RuntimeMoment::create_container, true},
    {"PreStartContainer", RuntimeMoment::start_container},
    {"PostStartContainer", std::nullopt},
    {"PostStopContainer", RuntimeMoment::stop_container},
    {"PreUpdateContainerResources", RuntimeMoment::update_container, true},
    {"PreRemoveRunPodSandbox", std::nullopt},
}};
constexpr std::size_t kMoments = 6, kKnobs = 64;
constexpr std::size_t kToldAtMost = 1000;

constexpr std::size_t index(RuntimeMoment moment) { return static_cast<std::size_t>(moment); }

std::string_view stage_of(RuntimeMoment moment) {
  for (const StageRow& row : kStages)
    if (row.moment == moment) return row.name;
  return "";
}

Cargo cargo_of(Knob knob) {
  switch (knob) {
    case Knob::cpu_shares: return Cargo::cpu_shares;
    case Knob::cpu_quota: return Cargo::cpu_quota;
    case Knob::cpuset_cpus: return Cargo::cpuset_cpus;
    case Knob::memory_limit: return Cargo::memory_limit;
    default: return Cargo::other_knobs;
  }
}

/// Whether the pod says anything to Koordinator by which it may be on CPUs of its own.
bool has_a_class(const RuntimeSandbox& sandbox) {
  const auto has = [](const std::vector<RuntimePair>& pairs, std::string_view name) {
    return std::ranges::any_of(pairs, [&](const RuntimePair& pair) { return pair.name == name; });
  };
  return has(sandbox.labels, api::kQosLabel) || has(sandbox.annotations, api::ResourceStatus::kAnnotation);
}

/// The pod of a request, and the container that it is about.
struct Asked {
  std::shared_ptr<const PodInfo> pod;
  std::optional<ContainerInfo> container;
};

}  // namespace

const metrics::Table Desk::kMetrics = {&kInvoked, &kRequests};

class Desk::Impl {
 public:
  explicit Impl(Parts parts, Options options)
      : parts_(std::move(parts)),
        fail_(options.fail),
        readers_(terms_readers(parts_.strategies)),
        requests_(parts_.metrics.counters(kRequests)),
        births_(std::move(options.births)) {
    const auto invoked = parts_.metrics.histograms(kInvoked);
    for (const StrategyEntry* row : parts_.strategies) {
      if (row->hook == nullptr || std::ranges::find(options.dry_run, row->name) != options.dry_run.end())
        continue;
      if (!row->gates.empty() && std::ranges::none_of(row->gates, [this](std::string_view gate) {
            return parts_.gates.enabled(gate);
          }))
        continue;
      Row& added = rows_.emplace_back();
      added.entry = row;
      for (const StageRow& stage : kStages)
        if (stage.answered)
          added.took[index(*stage.moment)] = invoked.with({row->hook->audit_reason, stage.name, "succeeded"});
    }
  }

  Result<> disable(const std::vector<std::string>& stages) {
    for (const std::string& name : stages) {
      const auto row = std::ranges::find(kStages, name, &StageRow::name);
      if (row == kStages.end()) {
        std::vector<std::string_view> known;
        known.reserve(kStages.size());
        for (const StageRow& one : kStages) known.push_back(one.name);
        return Error(Code::invalid, fmt::format("\"{}\" is no stage of {}", name, fmt::join(known, ", ")));
      }
      if (row->moment) off_.set(index(*row->moment));
    }
    return {};
  }

  bool asked_at(RuntimeMoment moment) const {
    if (rows_.empty() || off_.test(index(moment))) return false;
    return std::ranges::any_of(kStages,
                               [&](const StageRow& row) { return row.moment == moment && row.answered; });
  }
  std::vector<std::string_view> stages() const {
    std::vector<std::string_view> names;
    for (const StageRow& row : kStages)
      if (row.moment && asked_at(*row.moment)) names.push_back(row.name);
    return names;
  }
  std::string missing() {
    refresh();
    return missing_;
  }
  std::optional<MonoTime> last_update() const { return last_update_; }

  Births& births() { return births_; }
  std::vector<Ahead::Given> born() { return births_.known(parts_.hub.current(), parts_.clock.mono()); }

  Result<Verdict> answer(const RuntimeRequest& request, Transport transport) {
    Verdict verdict;
    if (!asked_at(request.moment)) return verdict;
    refresh();
    auto asked = read(request, verdict.warnings);
    const bool important = has_a_class(request.sandbox);
    if (!asked) {
      if (fail_ && important) return refuse(request, transport, std::move(asked).error());
      verdict.warnings.push_back(asked.error().message());
      count(transport, request.moment, "unchanged");
      tell(request, verdict);
      return verdict;
    }
    if (!missing_.empty() && important) {
      std::string why = fmt::format("the node agent does not know yet: {}", missing_);
      if (fail_) return refuse(request, transport, Error(Code::unavailable, std::move(why)));
      verdict.warnings.push_back(std::move(why));
    }
    ask_all(request, transport, *asked, verdict);
    if (request.moment == RuntimeMoment::update_container) last_update_ = parts_.clock.mono();
    count(transport, request.moment,
          !missing_.empty() && important ? "partial"
          : verdict.unchanged()          ? "unchanged"
                                         : "changed");
    tell(request, verdict);
    return verdict;
  }

 private:
  struct Row {
    const StrategyEntry* entry = nullptr;
    std::array<metrics::Histogram, kMoments> took;
  };
  /// What hooks may look at, until the inventory or the machine's CPUs are others.
  struct Known {
    std::shared_ptr<const Inventory> inventory;
    std::shared_ptr<const host::Topology> topology;
    std::shared_ptr<const NodeDevices> devices;
    std::optional<SharedPools> pools;
    std::string folder;  // of all pods
    std::array<std::optional<bool>, kKnobs> has;
  };

  /// What the request has of it.
  KnobValue free_of(Knob knob, const RuntimeResources& had) const {
    constexpr std::int64_t kLeastShares = 2;
    const auto limit = [](const std::optional<std::int64_t>& said) {
      return said.value_or(0) > 0 ? *said : host::kUnlimited;
    };
    switch (knob) {
      case Knob::cpu_shares: return had.cpu_shares.value_or(kLeastShares);
      case Knob::cpu_quota: {
        const std::int64_t quota = limit(had.cpu_quota), period = limit(had.cpu_period);
        // Its period goes with it.
        if (quota < 0 || period < 0 || period == host::kDefaultPeriodUs) return quota;
        return host::milli_cpu_to_quota(quota * 1000 / period);
      }
      case Knob::memory_limit: return limit(had.memory_limit);
      default: break;
    }
    if (const auto cpus = host::CpuSet::parse(had.cpuset_cpus); cpus && !cpus->empty()) return *cpus;
    // As its parent: cgroup v1 cannot say that.
    if (parts_.cgroup_version == host::CgroupVersion::v2 || !known_.topology) return host::CpuSet();
    return known_.topology->online;
  }

  void refresh() {
    auto topology = parts_.topology();
    auto devices = parts_.devices ? parts_.devices() : nullptr;
    const auto& inventory = parts_.hub.current();
    if (facts_ && known_.inventory == inventory && known_.topology == topology && known_.devices == devices)
      return;
    facts_.reset();
    known_ = {.inventory = inventory, .topology = std::move(topology), .devices = std::move(devices)};
    known_.folder =
        host::kubepods_folder(inventory->driver, host::KubeQos::guaranteed, inventory->kubelet_root);
    // Before pods were listed nobody knows whose CPUs are whose.
    if (known_.topology && inventory->pods_known) known_.pools = shared_pools(*known_.topology, *inventory);
    facts_.emplace(HookFacts{.inventory = *known_.inventory,
                             .gates = parts_.gates,
                             .cgroup_version = parts_.cgroup_version,
                             .topology = known_.topology.get(),
                             .pools = known_.pools ? &*known_.pools : nullptr,
                             .devices = known_.devices.get(),
                             .has = [this](Knob knob) { return has(knob); },
                             .setting = parts_.setting,
                             .is_set = parts_.is_set});
    std::vector<std::string_view> missing;
    if (!inventory->pods_known) missing.emplace_back("the node's pods");
    if (!inventory->slo_known) missing.emplace_back("the NodeSLO");
    if (!known_.topology) missing.emplace_back("the machine's CPUs");
    missing_ = fmt::format("{}", fmt::join(missing, ", "));
  }

  bool has(Knob knob) {
    auto& known = known_.has.at(static_cast<std::size_t>(knob));
    if (!known) known = parts_.has(knob, known_.folder);
    return *known;
  }

  Result<Asked> read(const RuntimeRequest& request, std::vector<std::string>& warnings) const {
    const bool of_container = request.moment != RuntimeMoment::run_sandbox;
    if (of_container && !request.container) return Error(Code::invalid, "the request is about no container");
    const Inventory& inventory = *known_.inventory;
    Asked asked;
    const auto& all = inventory.all_pods;
    const auto found = std::ranges::lower_bound(all, request.sandbox.uid, {},
                                                [](const auto& pod) { return std::string_view(pod->uid); });
    if (found != all.end() && (*found)->uid == request.sandbox.uid) {
      asked.pod = *found;
      if (of_container) {
        asked.container = requested_container(request, *asked.pod, inventory.driver, warnings);
        in_its_period(request, *asked.container);
      }
      return asked;
    }
    KOORD_TRY(requested, read_request(request, inventory.driver, inventory.kubelet_root, readers_));
    asked.pod = std::move(requested.pod);
    if (of_container) asked.container = *requested.container;
    if (of_container) in_its_period(request, *asked.container);
    warnings = std::move(requested.warnings);
    return asked;
  }

  /// Who changes a quota and says no period leaves the group's own: the kubelet's CustomCPUCFSQuotaPeriod,
  /// say. (A group that is still to be made has the kernel's.)
  void in_its_period(const RuntimeRequest& request, ContainerInfo& container) const {
    const RuntimeResources& said = request.container->resources;
    if (request.moment == RuntimeMoment::create_container || said.cpu_period.value_or(0) > 0 ||
        !said.cpu_quota || !container.cpu_limit_milli || container.group.empty())
      return;
    if (const auto period = parts_.setting(Knob::cpu_period, container.group); period && *period > 0)
      container.cpu_limit_milli = quota_to_milli(*said.cpu_quota, *period);
  }

  void ask_all(const RuntimeRequest& request, Transport transport, const Asked& asked, Verdict& verdict) {
    const PodInfo& pod = *asked.pod;
    if (terms_of(pod).virtual_machine) return;
    HookTarget target{.pod = &pod, .request = &request};
    if (asked.container) {
      target.level = HookLevel::container;
      target.group = asked.container->group;
      target.container = &*asked.container;
      return ask(request, transport, target, verdict);
    }
    target.level = HookLevel::pod;
    target.group = pod.group;
    ask(request, transport, target, verdict);
    target.level = HookLevel::sandbox;
    target.group = pod.sandbox_group;
    ask(request, transport, target, verdict);
  }

  /// One owner a value: the row that stands earlier.
  void ask(const RuntimeRequest& request, Transport transport, const HookTarget& target, Verdict& verdict) {
    std::bitset<kKnobs> owned;
    std::vector<Births::Value> given;
    const bool birth = request.moment == RuntimeMoment::create_container;
    for (Row& row : rows_) {
      answer_.clear();
      const MonoTime began = parts_.clock.mono();
      row.entry->hook->answer(*facts_, target, answer_);
      const std::chrono::duration<double, std::milli> took = parts_.clock.mono() - began;
      if (target.level != HookLevel::pod) row.took[index(request.moment)].observe(took.count());
      for (HookValue& value : answer_.knobs) {
        const auto knob = static_cast<std::size_t>(value.knob);
        if (owned.test(knob)) continue;
        if (value.where_limited && target.level == HookLevel::container &&
            request.container->resources.cpu_quota.value_or(0) <= 0)
          continue;
        owned.set(knob);
        const bool carried = target.level != HookLevel::pod &&
                             carries(transport, cargo_of(value.knob), request.moment) &&
                             set(value, request, verdict);
        if (carried && birth)
          given.push_back({value.knob, value.value, free_of(value.knob, request.container->resources),
                           std::string(row.entry->name)});
        if (!carried)
          verdict.later.push_back(
              {std::string(target.group), value.knob, std::move(value.value), value.reason, row.entry->name});
      }
      std::ranges::move(answer_.warnings, std::back_inserter(verdict.vain));
      if (target.level != HookLevel::container) continue;
      const auto move = [&](Cargo cargo, auto& from, auto& to, auto name_of) {
        if (!carries(transport, cargo, request.moment)) return;
        for (auto& one : from)
          if (std::ranges::none_of(to, [&](const auto& had) { return name_of(had) == name_of(one); }))
            to.push_back(std::move(one));
      };
      const auto name = [](const RuntimePair& pair) -> const std::string& { return pair.name; };
      move(Cargo::env, answer_.env, verdict.env, name);
      move(Cargo::annotations, answer_.annotations, verdict.annotations, name);
      move(Cargo::devices, answer_.devices, verdict.devices,
           [](const RuntimeDevice& one) { return one.path.empty() ? one.host_path : one.path; });
      if (carries(transport, Cargo::mounts, request.moment)) prepare(answer_.mounts, verdict);
      move(Cargo::mounts, answer_.mounts, verdict.mounts,
           [](const RuntimeMount& one) -> const std::string& { return one.destination; });
      move(Cargo::cdi_devices, answer_.cdi_devices, verdict.cdi_devices,
           [](const std::string& one) -> const std::string& { return one; });
      if (answer_.oom_score_adj && !verdict.settings.oom_score_adj &&
          carries(transport, Cargo::oom_score_adj, request.moment))
        verdict.settings.oom_score_adj = answer_.oom_score_adj;
    }
    if (!birth || given.empty()) return;
    births_.add(*known_.inventory, request.sandbox.uid, request.container->name, std::move(given),
                parts_.clock.mono());
    if (parts_.bears) parts_.bears();
  }

  void prepare(std::vector<RuntimeMount>& mounts, Verdict& verdict) const {
    if (!parts_.prepare) return;
    std::erase_if(mounts, [&](const RuntimeMount& mount) {
      const Result<> ready = parts_.prepare(mount);
      if (!ready)
        verdict.vain.push_back(fmt::format("it has no {}: {}", mount.destination, ready.error().message()));
      return !ready;
    });
  }

  /// False: there is no such field.
  bool set(const HookValue& value, const RuntimeRequest& request, Verdict& verdict) const {
    RuntimeSettings& settings = verdict.settings;
    if (value.knob == Knob::cpuset_cpus) {
      host::CpuSet cpus = std::get<host::CpuSet>(value.value);
      // The runtime would fail with others, and the container with it.
      if (known_.topology && !cpus.is_subset_of(known_.topology->online)) {
        verdict.warnings.push_back(fmt::format("of its CPUs {} this node has only {}", cpus.to_string(),
                                               (cpus & known_.topology->online).to_string()));
        cpus = cpus & known_.topology->online;
      }
      if (!cpus.empty()) settings.cpuset_cpus = cpus.to_string();
      return true;
    }
    const std::int64_t number = std::get<std::int64_t>(value.value);
    switch (value.knob) {
      case Knob::cpu_shares: settings.cpu_shares = number; return true;
      case Knob::memory_limit: settings.memory_limit = number; return true;
      case Knob::cpu_quota:
        settings.cpu_quota = number;
        // Hooks' quotas are of the kernel's usual period; who says none may have any.
        if (number > 0 && request.container &&
            request.container->resources.cpu_period != host::kDefaultPeriodUs)
          settings.cpu_period = host::kDefaultPeriodUs;
        return true;
      default: return false;
    }
  }

  Error refuse(const RuntimeRequest& request, Transport transport, Error error) {
    count(transport, request.moment, "refused");
    return std::move(error).context(fmt::format("pod {}/{}", request.sandbox.ns, request.sandbox.name));
  }

  void count(Transport transport, RuntimeMoment moment, std::string_view outcome) const {
    requests_.with({to_string(transport), stage_of(moment), outcome}).inc();
  }

  /// Each once for a pod.
  void tell(const RuntimeRequest& request, const Verdict& verdict) {
    for (const std::string& warning : verdict.warnings) tell(request, warning);
    for (const std::string& warning : verdict.vain)
      if (tell(request, warning) && parts_.tell) parts_.tell(request.sandbox, warning);
  }
  bool tell(const RuntimeRequest& request, const std::string& warning) {
    if (told_.size() >= kToldAtMost) told_.clear();
    if (!told_.emplace(request.sandbox.uid, warning).second) return false;
    parts_.log.warn("a runtime's request is not answered as it should be",
                    kv("pod", fmt::format("{}/{}", request.sandbox.ns, request.sandbox.name)),
                    kv("stage", stage_of(request.moment)), kv("why", warning));
    return true;
  }

  Parts parts_;
  bool fail_;
  std::vector<PodTermsReader> readers_;
  metrics::Family<metrics::Counter> requests_;
  std::vector<Row> rows_;
  std::bitset<kMoments> off_;
  Known known_;
  std::optional<HookFacts> facts_;  // of known_
  std::string missing_;
  HookAnswer answer_;  // of one hook
  std::optional<MonoTime> last_update_;
  Births births_;
  std::set<std::pair<std::string, std::string>> told_;
};

Result<std::unique_ptr<Desk>> Desk::make(Parts parts, Options options) {
  const std::vector<std::string> disabled = options.disabled_stages;
  auto impl = std::make_unique<Impl>(std::move(parts), std::move(options));
  KOORD_CHECK(impl->disable(disabled));
  return std::unique_ptr<Desk>(new Desk(std::move(impl)));
}
Desk::Desk(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Desk::~Desk() = default;
Result<Verdict> Desk::answer(const RuntimeRequest& request, Transport transport) {
  return impl_->answer(request, transport);
}
bool Desk::asked_at(RuntimeMoment moment) const { return impl_->asked_at(moment); }
std::vector<std::string_view> Desk::stages() const { return impl_->stages(); }
std::string Desk::missing() const { return impl_->missing(); }
Births& Desk::births() { return impl_->births(); }
std::vector<Ahead::Given> Desk::born() { return impl_->born(); }
std::optional<MonoTime> Desk::last_update() const { return impl_->last_update(); }

}  // namespace koord::koordlet
