// PeakModels: see models.hpp.
#include "framework/predict/models.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace koord::koordlet {

namespace {

constexpr double kGrowth = 1.05, kMinSampleWeight = 0.1, kEpsilon = 0.001 * kMinSampleWeight;
constexpr double kMaxCpus = 1024, kFirstCpus = 0.025;
constexpr double kMaxMemory = 2048.0 * 1024 * 1024 * 1024, kFirstMemory = 5.0 * 1024 * 1024;
constexpr double kCpuShare = 0.95, kMemoryShare = 0.98;

constexpr std::array kClasses = {PriorityClass::prod, PriorityClass::mid, PriorityClass::batch,
                                 PriorityClass::free, PriorityClass::none};

struct Sample {
  double cpu = 0, memory = 0;
};

}  // namespace

std::string_view model_of(PriorityClass priority_class) {
  switch (priority_class) {
    case PriorityClass::prod: return "__node-koord-prod__";
    case PriorityClass::mid: return "__node-koord-mid__";
    case PriorityClass::batch: return "__node-koord-batch__";
    case PriorityClass::free: return "__node-koord-free__";
    case PriorityClass::none: break;
  }
  return "__node-__";
}

bool is_node_model(std::string_view uid) { return uid.starts_with("__node") && uid.ends_with("__"); }

const Buckets& cpu_buckets() {
  static const Buckets kBuckets(kMaxCpus, kFirstCpus, kGrowth, kEpsilon);
  return kBuckets;
}

const Buckets& memory_buckets() {
  static const Buckets kBuckets(kMaxMemory, kFirstMemory, kGrowth, kEpsilon);
  return kBuckets;
}

std::optional<Amounts> PeakModel::peak() const {
  if (cpu.empty() || memory.empty()) return std::nullopt;
  return Amounts{static_cast<std::int64_t>(cpu.percentile(kCpuShare) * 1000.0),
                 static_cast<std::int64_t>(memory.percentile(kMemoryShare))};
}

PeakModel PeakModels::fresh(MonoTime now) const {
  return {DecayingHistogram(cpu_buckets(), limits_.cpu_half_life),
          DecayingHistogram(memory_buckets(), limits_.memory_half_life), now, std::nullopt};
}

bool PeakModels::make_room(MonoTime now) {
  if (models_.size() < limits_.most) return true;
  auto oldest = models_.end();
  for (auto at = models_.begin(); at != models_.end(); ++at)
    if (!is_node_model(at->first) && at->second.updated < now &&
        (oldest == models_.end() || at->second.updated < oldest->second.updated))
      oldest = at;
  if (oldest == models_.end()) return false;
  ended_.push_back(oldest->first);
  models_.erase(oldest);
  return true;
}

bool PeakModels::add(std::string_view uid, double cpu, double memory, MonoTime now, WallTime wall) {
  auto at = models_.find(uid);
  if (at == models_.end()) {
    if (!is_node_model(uid) && !make_room(now)) return false;
    at = models_.emplace(uid, fresh(now)).first;
  }
  PeakModel& model = at->second;
  model.updated = now;
  model.cpu.add(cpu, wall);
  model.memory.add(memory, wall);
  return true;
}

Result<> PeakModels::restore(std::string_view uid, const SavedHistogram& cpu, const SavedHistogram& memory,
                             MonoTime now, WallTime wall) {
  if (models_.size() >= limits_.most) return Error(Code::too_large, "more models than a node has pods");
  PeakModel model = fresh(now);
  if (auto loaded = model.cpu.load(cpu, wall); !loaded) return std::move(loaded).error().context("CPU");
  if (auto loaded = model.memory.load(memory, wall); !loaded)
    return std::move(loaded).error().context("Memory");
  models_.insert_or_assign(std::string(uid), std::move(model));
  return {};
}

const PeakModel* PeakModels::find(std::string_view uid) const {
  const auto at = models_.find(uid);
  return at != models_.end() ? &at->second : nullptr;
}

void PeakModels::expire(MonoTime now) {
  for (auto at = models_.begin(); at != models_.end();) {
    if (now - at->second.updated <= limits_.expiration) {
      ++at;
      continue;
    }
    ended_.push_back(at->first);
    at = models_.erase(at);
  }
}

PeakModels::Due PeakModels::take_due(MonoTime now, nanoseconds interval, std::size_t most) {
  Due due;
  for (const auto& [uid, model] : models_)
    if (!model.saved || now - *model.saved >= interval) due.emplace_back(uid, &model);
  const std::size_t count = std::min(most, due.size());
  std::partial_sort(due.begin(), due.begin() + static_cast<std::ptrdiff_t>(count), due.end(),
                    [](const auto& a, const auto& b) {
                      return std::pair(a.second->saved, a.first) < std::pair(b.second->saved, b.first);
                    });
  due.resize(count);
  for (const auto& [uid, model] : due) models_.find(uid)->second.saved = now;
  return due;
}

std::size_t train(PeakModels& models, const SeriesStore& series, const Inventory& inventory, MonoTime now,
                  WallTime wall, nanoseconds window) {
  const auto sample = [&](Metric cpu, Metric memory, std::string_view entity) -> std::optional<Sample> {
    const auto cpus = series.aggregate(cpu, entity, now, window);
    if (!cpus) return std::nullopt;
    const auto bytes = series.aggregate(memory, entity, now, window);
    if (!bytes) return std::nullopt;
    return Sample{cpus->p90, bytes->p90};
  };
  std::array<Sample, kClasses.size()> classes;
  Sample pods;
  std::size_t refused = 0;
  for (const auto& pod : inventory.pods) {
    const auto used = sample(Metric::pod_cpu, Metric::pod_memory, pod->uid);
    if (!used) continue;
    if (is_node_model(pod->uid) || !models.add(pod->uid, used->cpu, used->memory, now, wall)) ++refused;
    Sample& of_class = classes[static_cast<std::size_t>(
        std::find(kClasses.begin(), kClasses.end(), pod->effective_class()) - kClasses.begin())];
    for (Sample* sum : {&of_class, &pods}) {
      sum->cpu += used->cpu;
      sum->memory += used->memory;
    }
  }
  for (std::size_t i = 0; i < kClasses.size(); ++i)
    models.add(model_of(kClasses[i]), classes[i].cpu, classes[i].memory, now, wall);
  const auto node = sample(Metric::node_cpu, Metric::node_memory, "");
  if (!node) return refused;
  models.add(kNodeModel, node->cpu, node->memory, now, wall);
  models.add(kSystemModel, std::max(node->cpu - pods.cpu, 0.0), std::max(node->memory - pods.memory, 0.0),
             now, wall);
  return refused;
}

}  // namespace koord::koordlet
