// CycleWatch: the attempt that the engine is at, for those who look at it from outside.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "koord/base/clock.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

/// Written by the engine's thread, read by any.
class CycleWatch {
 public:
  struct Seen {
    std::shared_ptr<const api::Pod> pod;
    std::string_view profile;  // lives as long as the engine
    MonoTime since{};
    std::string_view point;  // that is executed
  };

  void begin(std::shared_ptr<const api::Pod> pod, std::string_view profile, MonoTime now) {
    at("Filter");
    const std::lock_guard lock(mutex_);
    pod_.swap(pod);
    profile_ = profile;
    since_ = now;
    in_cycle_ = true;
  }
  /// An extension point; a literal.
  void at(const char* point) { point_.store(point, std::memory_order_relaxed); }
  void end() {
    const std::lock_guard lock(mutex_);
    in_cycle_ = false;
  }
  /// Absent: no pod is being tried.
  std::optional<Seen> seen() const {
    const std::lock_guard lock(mutex_);
    if (!in_cycle_) return std::nullopt;
    return Seen{pod_, profile_, since_, point_.load(std::memory_order_relaxed)};
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const api::Pod> pod_;
  std::string_view profile_;
  MonoTime since_{};
  bool in_cycle_ = false;
  std::atomic<const char*> point_{""};
};

}  // namespace koord::scheduling
