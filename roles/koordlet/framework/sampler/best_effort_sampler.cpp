// The best-effort tier: usage of its roots, requests of its pods, the limit of cpusets and quotas.
#include "framework/sampler/best_effort_sampler.hpp"

#include <algorithm>
#include <utility>

#include "koord/host/cgroup_paths.hpp"
#include "koord/host/cgroup_stats.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr double kMilli = 1000;

}  // namespace

BestEffortSampler::BestEffortSampler(Config config, host::CgroupVersion version, KernelReader& reader,
                                     SeriesStore& series, ReadFaults& faults)
    : config_(config), version_(version), reader_(reader), series_(series), faults_(faults) {
  const auto open = [&](Metric metric) {
    const auto id = series_.open(metric, "");
    return id ? *id : SeriesId{};
  };
  usage_series_ = open(Metric::be_cpu_usage);
  request_series_ = open(Metric::be_cpu_request);
  limit_series_ = open(Metric::be_cpu_real_limit);
}

BestEffortSampler::~BestEffortSampler() {
  for (Root& root : roots_) forget(root);
}

void BestEffortSampler::forget(Root& root) {
  for (const Fd* fd : {&root.usage, &root.cpuset, &root.quota, &root.period, &root.memory})
    reader_.released(*fd);
}

void BestEffortSampler::follow(const Inventory& inventory) {
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

BestEffortUse BestEffortSampler::sample(int online_cpus, std::uint64_t tick, MonoTime at) {
  BestEffortUse out;
  out.request_milli = request_milli_;
  series_.append(request_series_, at, out.request_milli);
  if (roots_.empty()) return out;
  double usage = 0;
  double limit = 0;
  out.memory = 0;
  for (Root& root : roots_) {
    usage += usage_milli(root, at);
    out.memory += memory(root);
    limit += limit_milli(root, online_cpus, tick);
  }
  out.usage_milli = usage;
  if (online_cpus > 0) out.real_limit_milli = std::min(limit, online_cpus * kMilli);
  series_.append(usage_series_, at, out.usage_milli);
  series_.append(limit_series_, at, out.real_limit_milli);
  return out;
}

bool BestEffortSampler::read(Fd& fd, host::Knob knob, std::string_view group, std::string_view& text) {
  switch (reader_.read(fd, knob, group, text)) {
    case Outcome::good: return true;
    case Outcome::absent: return false;
    case Outcome::failed: faults_.failed(host::row(knob).name, group, reader_.last_errno()); return false;
  }
  return false;
}

double BestEffortSampler::usage_milli(Root& root, MonoTime at) {
  std::string_view text;
  std::uint64_t used = 0;
  root.present = true;
  switch (reader_.read(root.usage, host::Knob::cpu_usage, root.group, text)) {
    case Outcome::good: break;
    case Outcome::absent:  // it uses nothing, and if it comes it begins with nothing
      root.present = false;
      root.used.forget();
      root.used.next(0, at, config_.max_age);
      return 0;
    case Outcome::failed:
      faults_.failed(host::row(host::Knob::cpu_usage).name, root.group, reader_.last_errno());
      root.used.forget();
      return kUnknown;
  }
  if (version_ == host::CgroupVersion::v1) {
    const auto counter = host::parse_counter(text);
    if (!counter) {
      faults_.garbled(host::row(host::Knob::cpu_usage).name, root.group, counter.error());
      return kUnknown;
    }
    used = *counter;
  } else {
    const auto stat = host::parse_cpu_stat(text, version_);
    if (!stat) {
      faults_.garbled(host::row(host::Knob::cpu_stat).name, root.group, stat.error());
      return kUnknown;
    }
    used = stat->usage_ns;
  }
  const auto change = root.used.next(used, at, config_.max_age);
  return change ? change.amount / static_cast<double>(change.over.count()) * kMilli : kUnknown;
}

double BestEffortSampler::memory(Root& root) {
  if (!root.present) return 0;
  std::string_view text;
  switch (reader_.read(root.memory, host::Knob::memory_stat, root.group, text)) {
    case Outcome::good: break;
    case Outcome::absent: return 0;
    case Outcome::failed:
      faults_.failed(host::row(host::Knob::memory_stat).name, root.group, reader_.last_errno());
      return kUnknown;
  }
  const auto stat = host::parse_memory_stat(text, version_);
  if (stat) return static_cast<double>(stat->used());
  faults_.garbled(host::row(host::Knob::memory_stat).name, root.group, stat.error());
  return kUnknown;
}

bool BestEffortSampler::read_cpuset(Fd* held, std::string_view group, int& cpus) {
  std::string_view text;
  const Outcome outcome = held ? reader_.read(*held, host::Knob::cpuset_cpus, group, text)
                               : reader_.read_once(host::Knob::cpuset_cpus, group, text);
  cpus = 0;
  if (outcome == Outcome::absent) return false;
  if (outcome == Outcome::failed) {
    faults_.failed(host::row(host::Knob::cpuset_cpus).name, group, reader_.last_errno());
    return false;
  }
  const auto count = host::count_cpus(text);
  if (!count) {
    faults_.garbled(host::row(host::Knob::cpuset_cpus).name, group, count.error());
    return false;
  }
  cpus = *count;
  return true;
}

double BestEffortSampler::quota_cpus(Root& root) {
  std::string_view text;
  if (!read(root.quota, host::Knob::cpu_quota, root.group, text)) return kUnknown;
  host::CpuMax max;
  if (version_ == host::CgroupVersion::v2) {
    const auto parsed = host::parse_cpu_max(text);
    if (!parsed) {
      faults_.garbled(host::row(host::Knob::cpu_quota).name, root.group, parsed.error());
      return kUnknown;
    }
    max = *parsed;
  } else {
    if (!host::to_number(host::trimmed(text), max.quota_us)) {
      faults_.garbled(host::row(host::Knob::cpu_quota).name, root.group, Error(Code::parse, "not a number"));
      return kUnknown;
    }
    if (max.quota_us > 0 && (!read(root.period, host::Knob::cpu_period, root.group, text) ||
                             !host::to_number(host::trimmed(text), max.period_us)))
      return kUnknown;
  }
  if (max.quota_us <= 0 || max.period_us <= 0) return kUnknown;  // no quota
  return static_cast<double>(max.quota_us) / static_cast<double>(max.period_us);
}

double BestEffortSampler::limit_milli(Root& root, int online_cpus, std::uint64_t tick) {
  const int before = root.cpus;
  read_cpuset(&root.cpuset, root.group, root.cpus);
  const bool all = root.cpus != before;
  int cpus = root.cpus > 0 ? root.cpus : online_cpus;
  for (std::size_t i = 0; i < root.containers.size(); ++i) {
    Container& container = root.containers[i];
    if (all || container.cpus == kUnread || (tick + i) % config_.container_every == 0)
      read_cpuset(nullptr, container.group, container.cpus);
    if (container.cpus > 0) cpus = std::min(cpus, container.cpus);
  }
  const double quota = quota_cpus(root);
  return (known(quota) ? std::min(quota, static_cast<double>(cpus)) : cpus) * kMilli;
}

}  // namespace koord::koordlet
