// What is measured of gangs, under Koordinator's names.
#pragma once

#include <cstddef>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"

namespace koord::scheduling::gangs {

/// Counts into nothing until measure().
class Measures {
 public:
  void measure(metrics::Registry& registry);
  /// One group more, or one less, has members that wait for their permit.
  void waiting(int more) const {
    if (measured_) waiting_.add(more);
  }
  /// A group of so many members without a node was tried as one.
  void tried(bool placed, std::size_t members, nanoseconds took) const;

 private:
  bool measured_ = false;
  metrics::Gauge waiting_;
  metrics::Family<metrics::Histogram> tried_;
};

/// Koordinator's: "1-100" to "901-1000", "1000+"; of nobody "0".
std::string_view size_of_job(std::size_t members);

}  // namespace koord::scheduling::gangs
