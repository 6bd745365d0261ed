#include "event_memory.hpp"

#include <algorithm>
#include <utility>

namespace koord::kube {

bool EventLimiter::allow(const std::string& object, MonoTime now) {
  Bucket* bucket = buckets_.find(object);
  if (bucket == nullptr) {
    buckets_.add(object, {static_cast<double>(burst_) - 1, now});
    return burst_ > 0;
  }
  const double refilled =
      std::chrono::duration<double>(now - bucket->at) / std::chrono::duration<double>(refill_);
  bucket->tokens = std::min(static_cast<double>(burst_), bucket->tokens + refilled);
  bucket->at = now;
  if (bucket->tokens < 1) return false;
  bucket->tokens -= 1;
  return true;
}

EventSeriesMemory::Answer EventSeriesMemory::seen(const std::string& key, MonoTime now, WallTime wall,
                                                  Write& write) {
  Series* known = series_.find(key);
  if (known == nullptr || now - known->seen_at >= window_) return Answer::first;
  ++known->count;
  known->seen_at = now;
  known->last = wall;
  if (known->written > 1) return Answer::counted;
  write = write_of(*known, now);
  return Answer::second;
}

void EventSeriesMemory::remember(std::string key, std::string_view ns, std::string_view name, MonoTime now,
                                 WallTime wall) {
  Series fresh{std::string(ns), std::string(name), 1, 1, now, now, wall};
  std::optional<Series> gone;
  if (Series* known = series_.find(key)) {
    gone = std::exchange(*known, std::move(fresh));
  } else if (auto entry = series_.add(std::move(key), std::move(fresh))) {
    gone = std::move(entry->second);
  }
  if (gone && gone->count > gone->written) evicted_.push_back(write_of(*gone, now));
}

void EventSeriesMemory::forget(std::string_view ns, std::string_view name) {
  series_.erase_if([&](const Series& series) { return series.name == name && series.ns == ns; });
}

std::vector<EventSeriesMemory::Write> EventSeriesMemory::due(MonoTime now) {
  std::vector<Write> writes = std::move(evicted_);
  evicted_.clear();
  series_.erase_if([&](Series& series) {
    const bool over = now - series.seen_at >= window_;
    if (series.count > series.written && (over || now - series.written_at >= refresh_))
      writes.push_back(write_of(series, now));
    return over;
  });
  return writes;
}

EventSeriesMemory::Write EventSeriesMemory::write_of(Series& series, MonoTime now) {
  series.written = series.count;
  series.written_at = now;
  return {series.ns, series.name, series.count, series.last};
}

}  // namespace koord::kube
