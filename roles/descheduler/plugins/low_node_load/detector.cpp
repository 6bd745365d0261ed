// Detector: see detector.hpp.
#include "plugins/low_node_load/detector.hpp"

namespace koord::descheduler::low_node_load {

namespace {
constexpr nanoseconds kDefaultTimeout = std::chrono::seconds(60);
}  // namespace

bool Detector::is_anomaly(MonoTime now) {
  if (anomaly_ && (until_ < now || normal_ > condition_.normal)) reset();
  return anomaly_;
}

bool Detector::mark(bool normal, MonoTime now) {
  const bool was = is_anomaly(now);
  if (normal) {
    ++normal_;
    abnormal_ = 0;
    return is_anomaly(now);
  }
  ++abnormal_;
  normal_ = 0;
  if (!was && abnormal_ > condition_.abnormal) {
    *this = Detector(condition_);
    anomaly_ = true;
    until_ = now + (condition_.timeout > nanoseconds::zero() ? condition_.timeout : kDefaultTimeout);
  }
  return anomaly_;
}

}  // namespace koord::descheduler::low_node_load
