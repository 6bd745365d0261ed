// Complaints: see complaints.hpp.
#include "framework/states/complaints.hpp"

#include <fmt/format.h>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {

Complaints::News Complaints::take(const PodList& list, MonoTime now) {
  News news;
  news.untold = list.more_complaints;
  std::set<std::string> known;
  for (const PodComplaint& complaint : list.complaints) {
    const std::string_view uid = complaint.pod->metadata.uid;
    std::string key = fmt::format("{} {}", uid.substr(0, kMaxComplaint), complaint.what);
    if (known.contains(key)) continue;
    if (!known_.contains(key)) {
      if (!limit_.allow(now)) {
        ++news.untold;
        continue;
      }
      news.told.push_back(&complaint);
    }
    known.insert(std::move(key));
  }
  known_ = std::move(known);
  return news;
}

}  // namespace koord::koordlet
