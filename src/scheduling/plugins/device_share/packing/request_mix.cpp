// RequestMix: see request_mix.hpp.
#include "scheduling/plugins/device_share/packing/request_mix.hpp"

#include <algorithm>
#include <cmath>

namespace koord::scheduling::device_share {

RequestMix::RequestMix(std::size_t half_life, std::size_t most, double tolerance)
    : decay_(std::exp2(-1.0 / static_cast<double>(std::max<std::size_t>(half_life, 1)))),
      settle_every_(std::max<std::size_t>(half_life / 8, 1)),
      most_(most),
      tolerance_(tolerance) {}

bool RequestMix::observe(const PackedRequest& request) {
  // Newer pods weigh more, rather than older ones less: one number changes.
  scale_ /= decay_;
  const auto it = std::ranges::find(counted_, request, &Counted::request);
  if (it != counted_.end()) {
    it->count += scale_;
  } else {
    counted_.push_back({request, scale_});
  }
  // The first pods change it much: it settles after 1, 2, 4, ... of them.
  ++since_;
  if (since_ < std::min(settle_every_, settled_)) return false;
  return settle();
}

bool RequestMix::settle() {
  settled_ += since_;
  since_ = 0;
  double sum = 0;
  for (Counted& each : counted_) {
    each.count /= scale_;
    sum += each.count;
  }
  scale_ = 1;
  if (counted_.size() > most_) {
    std::vector<double> counts;
    counts.reserve(counted_.size());
    for (const Counted& each : counted_) counts.push_back(each.count);
    const auto nth = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() - most_);
    std::ranges::nth_element(counts, nth);
    const double least = *nth;
    std::erase_if(counted_, [&](const Counted& each) { return each.count < least; });
    sum = 0;
    for (const Counted& each : counted_) sum += each.count;
  }
  std::vector<Entry> entries;
  entries.reserve(counted_.size());
  for (const Counted& each : counted_) entries.push_back({each.request, each.count / sum});
  if (difference(entries) <= tolerance_) return false;
  entries_ = std::move(entries);
  return true;
}

/// By how much the weights differ from those of now, added up.
double RequestMix::difference(std::span<const Entry> to) const {
  double sum = 0, known = 0, now = 0;
  for (const Entry& each : to) {
    const auto it = std::ranges::find(entries_, each.request, &Entry::request);
    const double before = it != entries_.end() ? it->weight : 0;
    sum += std::abs(each.weight - before);
    known += before;
  }
  for (const Entry& each : entries_) now += each.weight;
  return sum + std::max(now - known, 0.0);  // and those that are no more
}

}  // namespace koord::scheduling::device_share
