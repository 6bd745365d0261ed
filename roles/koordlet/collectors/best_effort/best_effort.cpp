// The collector of the best-effort tier: usage of its roots, requests of its pods, the limit of cpusets and
// quotas.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/sampler/collector.hpp"
#include "framework/sampler/rate.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/tick/best_effort_use.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/host/cgroup_stats.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr double kMilli = 1000;
/// The cpusets of containers are read in turn, each once in so many ticks; all when a root's changes.
constexpr std::uint32_t kContainerEvery = 10;
constexpr int kUnread = -1;

class BestEffortCollector final : public Collector {
 public:
  explicit BestEffortCollector(const CollectorContext& context);
  ~BestEffortCollector() override;

  /// Follows the inventory's roots and the containers below them.
  void follow(const Inventory& inventory) override;
  void sample(const TickView& view) override;
  void show(TickView& view) const override { view.slots.show(&use_, view.at); }

 private:
  struct Container {
    std::string group;
    int cpus = kUnread;  // 0: no limit of its own
  };
  struct Root {
    std::string group;
    Fd usage, cpuset, quota, period, memory;
    Rate used;
    bool present = false;  // when its use of CPU was read last
    int cpus = 0;
    std::vector<Container> containers;
  };
  double usage_milli(Root& root, MonoTime at);
  /// `online_cpus` stands for the cpuset of a root that has none of its own.
  double limit_milli(Root& root, int online_cpus, std::uint64_t tick);
  double memory(Root& root);
  /// CPUs of the quota; unknown where there is none.
  double quota_cpus(Root& root);
  void read_cpuset(Fd* held, std::string_view group, int& cpus);
  void forget(Root& root);

  const CollectorContext& context_;
  host::CgroupVersion version_;
  std::vector<Root> roots_;
  double request_milli_ = 0;
  BestEffortUse use_;
  SeriesId usage_series_, request_series_, limit_series_;
};

BestEffortCollector::BestEffortCollector(const CollectorContext& context)
    : context_(context),
      version_(context.cgroups.version()),
      usage_series_(context.open(Metric::be_cpu_usage, "")),
      request_series_(context.open(Metric::be_cpu_request, "")),
      limit_series_(context.open(Metric::be_cpu_real_limit, "")) {}

BestEffortCollector::~BestEffortCollector() {
  for (Root& root : roots_) forget(root);
}

void BestEffortCollector::forget(Root& root) {
  for (const Fd* fd : {&root.usage, &root.cpuset, &root.quota, &root.period, &root.memory})
    context_.reader.released(*fd);
}

void BestEffortCollector::follow(const Inventory& inventory) {
  std::vector<Root> roots;
  for (const std::string& group : inventory.be_roots) {
    const auto known =
        std::find_if(roots_.begin(), roots_.end(), [&](const Root& root) { return root.group == group; });
    Root root;
    if (known != roots_.end()) {
      root = std::move(*known);
      roots_.erase(known);
    }
    root.group = group;
    std::vector<Container> containers;
    for (const auto& pod : inventory.pods)
      for (const ContainerInfo& container : pod->containers)
        if (host::is_below(container.group, group)) containers.push_back({.group = container.group});
    // What is known of a container stays known; both are in the inventory's order, nearly.
    for (Container& container : containers)
      for (const Container& old : root.containers)
        if (old.group == container.group) container.cpus = old.cpus;
    root.containers = std::move(containers);
    roots.push_back(std::move(root));
  }
  for (Root& gone : roots_) forget(gone);
  roots_ = std::move(roots);

  std::int64_t request = 0;
  for (const auto& pod : inventory.pods)
    if (pod->qos == Qos::be) request += pod->requests.batch_cpu;
  request_milli_ = static_cast<double>(request);
}

void BestEffortCollector::sample(const TickView& view) {
  use_ = {};
  if (!view.inventory->pods_known) return;
  use_.request_milli = request_milli_;
  context_.series.append(request_series_, view.at, use_.request_milli);
  if (roots_.empty()) return;
  double usage = 0;
  double limit = 0;
  use_.memory = 0;
  for (Root& root : roots_) {
    usage += usage_milli(root, view.at);
    use_.memory += memory(root);
    limit += limit_milli(root, view.online_cpus, view.tick);
  }
  use_.usage_milli = usage;
  if (view.online_cpus > 0) use_.real_limit_milli = std::min(limit, view.online_cpus * kMilli);
  context_.series.append(usage_series_, view.at, use_.usage_milli);
  context_.series.append(limit_series_, view.at, use_.real_limit_milli);
}

double BestEffortCollector::usage_milli(Root& root, MonoTime at) {
  std::string_view text;
  std::uint64_t used = 0;
  root.present = true;
  switch (context_.reader.read(root.usage, host::Knob::cpu_usage, root.group, text)) {
    case Outcome::good: break;
    case Outcome::absent:  // it uses nothing, and if it comes it begins with nothing
      root.present = false;
      root.used.forget();
      root.used.next(0, at, context_.config.max_age());
      return 0;
    case Outcome::failed:
      context_.failed(host::Knob::cpu_usage, root.group);
      root.used.forget();
      return kUnknown;
  }
  if (version_ == host::CgroupVersion::v1) {
    const auto counter = host::parse_counter(text);
    if (!counter) {
      context_.garbled(host::Knob::cpu_usage, root.group, counter.error());
      return kUnknown;
    }
    used = *counter;
  } else {
    const auto stat = host::parse_cpu_stat(text, version_);
    if (!stat) {
      context_.garbled(host::Knob::cpu_stat, root.group, stat.error());
      return kUnknown;
    }
    used = stat->usage_ns;
  }
  const auto change = root.used.next(used, at, context_.config.max_age());
  return change ? change.amount / static_cast<double>(change.over.count()) * kMilli : kUnknown;
}

double BestEffortCollector::memory(Root& root) {
  if (!root.present) return 0;
  std::string_view text;
  switch (context_.reader.read(root.memory, host::Knob::memory_stat, root.group, text)) {
    case Outcome::good: break;
    case Outcome::absent: return 0;
    case Outcome::failed: context_.failed(host::Knob::memory_stat, root.group); return kUnknown;
  }
  const auto stat = host::parse_memory_stat(text, version_);
  if (stat) return static_cast<double>(stat->used());
  context_.garbled(host::Knob::memory_stat, root.group, stat.error());
  return kUnknown;
}

void BestEffortCollector::read_cpuset(Fd* held, std::string_view group, int& cpus) {
  std::string_view text;
  cpus = 0;
  const bool good = held ? context_.read(*held, host::Knob::cpuset_cpus, group, text)
                         : context_.read_once(host::Knob::cpuset_cpus, group, text);
  if (!good) return;
  if (const auto count = host::count_cpus(text))
    cpus = *count;
  else
    context_.garbled(host::Knob::cpuset_cpus, group, count.error());
}

double BestEffortCollector::quota_cpus(Root& root) {
  std::string_view text;
  if (!context_.read(root.quota, host::Knob::cpu_quota, root.group, text)) return kUnknown;
  host::CpuMax max;
  if (version_ == host::CgroupVersion::v2) {
    const auto parsed = host::parse_cpu_max(text);
    if (!parsed) {
      context_.garbled(host::Knob::cpu_quota, root.group, parsed.error());
      return kUnknown;
    }
    max = *parsed;
  } else {
    if (!host::to_number(host::trimmed(text), max.quota_us)) {
      context_.garbled(host::Knob::cpu_quota, root.group, Error(Code::parse, "not a number"));
      return kUnknown;
    }
    if (max.quota_us > 0 && (!context_.read(root.period, host::Knob::cpu_period, root.group, text) ||
                             !host::to_number(host::trimmed(text), max.period_us)))
      return kUnknown;
  }
  if (max.quota_us <= 0 || max.period_us <= 0) return kUnknown;  // no quota
  return static_cast<double>(max.quota_us) / static_cast<double>(max.period_us);
}

double BestEffortCollector::limit_milli(Root& root, int online_cpus, std::uint64_t tick) {
  const int before = root.cpus;
  read_cpuset(&root.cpuset, root.group, root.cpus);
  const bool all = root.cpus != before;
  int cpus = root.cpus > 0 ? root.cpus : online_cpus;
  for (std::size_t i = 0; i < root.containers.size(); ++i) {
    Container& container = root.containers[i];
    if (all || container.cpus == kUnread || (tick + i) % kContainerEvery == 0)
      read_cpuset(nullptr, container.group, container.cpus);
    if (container.cpus > 0) cpus = std::min(cpus, container.cpus);
  }
  const double quota = quota_cpus(root);
  return (known(quota) ? std::min(quota, static_cast<double>(cpus)) : cpus) * kMilli;
}

}  // namespace

extern const CollectorEntry kBestEffort;
const CollectorEntry kBestEffort{.name = "best_effort", .make = &make_collector<BestEffortCollector>};

}  // namespace koord::koordlet
