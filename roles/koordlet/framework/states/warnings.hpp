// Warnings: which of the warnings about pods are new, and how many of them may be told.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "framework/objects/pod_info.hpp"
#include "koord/async/token_bucket.hpp"

namespace koord::koordlet {

/// A warning is new once, until a list comes without it. So many at once are told and one more each 36 s:
/// what thinks of new ones every time fills no log.
class Warnings {
 public:
  static constexpr int kBurst = 100;

  struct Fresh {
    std::vector<const PodWarning*> told;
    /// More of them are new: told later, if they last. Counted with those that the list has no words for.
    std::size_t untold = 0;
  };
  /// The warnings of a whole list. The answer points into it.
  Fresh take(const PodList& list, MonoTime now);

 private:
  std::set<std::string> known_;
  TokenBucket limit_{100.0 / 3600, kBurst};
};

}  // namespace koord::koordlet
