// Detector: whether a node has been over its thresholds for long enough to be relieved.
#pragma once

#include <cstdint>

#include "koord/base/clock.hpp"

namespace koord::descheduler::low_node_load {

/// How long that is.
struct AnomalyCondition {
  nanoseconds timeout{};  // an anomaly is forgotten after this long; 0: 60 s
  std::uint32_t abnormal = 5, normal = 3;

  friend bool operator==(const AnomalyCondition&, const AnomalyCondition&) = default;
};

/// A pass marks it: over its thresholds or not. More than `abnormal` in a row, and the node is an anomaly; it
/// is none any more after more than `normal` good ones in a row, or after the timeout, and counting starts
/// anew.
class Detector {
 public:
  explicit Detector(AnomalyCondition condition) : condition_(condition) {}

  /// Whether it is an anomaly now.
  bool mark(bool normal, MonoTime now);
  bool is_anomaly(MonoTime now);
  /// It is in order.
  void reset() { *this = Detector(condition_); }

 private:
  AnomalyCondition condition_;
  bool anomaly_ = false;
  std::uint32_t abnormal_ = 0, normal_ = 0;  // in a row
  MonoTime until_{};                         // of the anomaly
};

}  // namespace koord::descheduler::low_node_load
