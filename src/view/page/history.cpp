// History: rings that thin themselves out; see history.hpp.
#include "view/page/history.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "koord/json/writer.hpp"

namespace koord::view {

namespace {

constexpr double kCores = 0.01, kBytes = 64.0 * 1024 * 1024;

std::uint16_t packed(double amount, double unit) {
  return static_cast<std::uint16_t>(std::clamp(std::round(amount / unit), 0.0, 65'535.0));
}

double cores(std::uint16_t packed) { return packed / 100.0; }

}  // namespace

std::size_t tier_index(std::string_view name) {
  for (std::size_t i = 0; i < kTiers.size(); ++i)
    if (kTiers[i] == name) return i;
  return 4;
}

void History::erase_old(MonoTime at) {
  const auto first = std::find_if(samples_.begin(), samples_.end(),
                                  [&](const Sample& sample) { return at - sample.at <= kWindow; });
  const auto count = first - samples_.begin();
  samples_.erase(samples_.begin(), first);
  for (Track& track : pods_) track.cpu.erase(track.cpu.begin(), track.cpu.begin() + count);
}

/// Every second sample goes; the newest stays.
void History::thin() {
  const auto keep_odd = [](auto& values) {
    std::size_t to = 0;
    for (std::size_t from = 1; from < values.size(); from += 2) values[to++] = values[from];
    values.resize(to);
  };
  gap_ = std::max<nanoseconds>(gap_, (samples_.back().at - samples_.front().at) / (kSamples / 2));
  keep_odd(samples_);
  for (Track& track : pods_) keep_odd(track.cpu);
}

void History::add(MonoTime at, const Usage& usage, std::span<const PodUsage> pods) {
  if (!samples_.empty() && at <= samples_.back().at) return;
  erase_old(at);
  if (samples_.size() >= 2 && at - samples_[samples_.size() - 2].at < gap_) {
    samples_.pop_back();
    for (Track& track : pods_) track.cpu.pop_back();
  } else if (samples_.size() == kSamples) {
    thin();
  }
  Sample& sample = samples_.emplace_back();
  sample.at = at;
  for (std::size_t i = 0; i < kTiers.size(); ++i) {
    sample.cpu[i] = packed(usage.cpu[i], kCores);
    sample.memory[i] = packed(usage.memory[i], kBytes);
  }
  sample.lent = packed(usage.lent_cpu, kCores);
  take_pods(pods);
}

void History::take_pods(std::span<const PodUsage> pods) {
  std::vector<const PodUsage*> most;
  most.reserve(pods.size());
  for (const PodUsage& pod : pods)
    if (pod.name.size() <= kLongestName) most.push_back(&pod);
  std::ranges::stable_sort(most, [](const PodUsage* a, const PodUsage* b) { return a->cpu > b->cpu; });
  std::unordered_map<std::string_view, Track*> known;
  for (Track& track : pods_) {
    track.cpu.push_back(0);
    known.emplace(track.name, &track);
  }
  std::vector<const PodUsage*> unknown;
  for (const PodUsage* pod : most) {
    if (const auto found = known.find(pod->name); found != known.end()) {
      found->second->cpu.back() = packed(pod->cpu, kCores);
      found->second->tier = static_cast<std::uint8_t>(pod->tier);
    } else if (unknown.size() < kPods) {
      unknown.push_back(pod);
    }
  }
  std::erase_if(pods_, [](const Track& track) { return std::ranges::max(track.cpu) == 0; });
  for (const PodUsage* pod : unknown) {
    const std::uint16_t now = packed(pod->cpu, kCores);
    if (now == 0) break;
    Track* place = nullptr;
    if (pods_.size() < kPods) {
      place = &pods_.emplace_back();
    } else {
      const auto least =
          std::ranges::min_element(pods_, {}, [](const Track& track) { return std::ranges::max(track.cpu); });
      if (std::ranges::max(least->cpu) >= now) break;
      place = &*least;
    }
    place->name = pod->name;
    place->tier = static_cast<std::uint8_t>(pod->tier);
    place->cpu.assign(samples_.size(), 0);
    place->cpu.back() = now;
  }
}

void History::write(json::Writer& json, MonoTime now) const {
  json.key("seconds").begin_array();
  for (const Sample& sample : samples_)
    json.value(std::chrono::duration_cast<std::chrono::seconds>(sample.at - now).count());
  json.end_array().key("cpu").begin_array();
  for (std::size_t i = 0; i < kTiers.size(); ++i) {
    json.begin_array();
    for (const Sample& sample : samples_) json.value(cores(sample.cpu[i]));
    json.end_array();
  }
  json.end_array().key("memory").begin_array();
  for (std::size_t i = 0; i < kTiers.size(); ++i) {
    json.begin_array();
    for (const Sample& sample : samples_) json.value(sample.memory[i] * kBytes);
    json.end_array();
  }
  json.end_array().key("lent").begin_array();
  for (const Sample& sample : samples_) json.value(cores(sample.lent));
  json.end_array().key("pods").begin_array();
  for (const Track& track : pods_) {
    json.begin_object()
        .member("name", track.name)
        .member("tier", kTiers[track.tier])
        .key("cpu")
        .begin_array();
    for (const std::uint16_t each : track.cpu) json.value(cores(each));
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace koord::view
