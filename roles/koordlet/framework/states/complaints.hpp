// Complaints: which of the complaints about pods are news, and how many of them may be told.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "framework/objects/pod_info.hpp"
#include "koord/async/token_bucket.hpp"

namespace koord::koordlet {

/// A complaint is news once, until a list comes without it. So many at once are told and one more each 36 s:
/// what thinks of new ones every time fills no log.
class Complaints {
 public:
  static constexpr int kBurst = 100;

  struct News {
    std::vector<const PodComplaint*> told;
    /// More of them are news: told later, if they last. Counted with those that the list has no words for.
    std::size_t untold = 0;
  };
  /// The complaints of a whole list. The answer points into it.
  News take(const PodList& list, MonoTime now);

 private:
  std::set<std::string> known_;
  TokenBucket limit_{100.0 / 3600, kBurst};
};

}  // namespace koord::koordlet
