// Warnings: see warnings.hpp.
#include "framework/states/warnings.hpp"

#include <fmt/format.h>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {

Warnings::Fresh Warnings::take(const PodList& list, MonoTime now) {
  Fresh fresh;
  fresh.untold = list.more_warnings;
  std::set<std::string> known;
  for (const PodWarning& warning : list.warnings) {
    const std::string_view uid = warning.pod->metadata.uid;
    std::string key = fmt::format("{} {}", uid.substr(0, kMaxWarning), warning.what);
    if (known.contains(key)) continue;
    if (!known_.contains(key)) {
      if (!limit_.allow(now)) {
        ++fresh.untold;
        continue;
      }
      fresh.told.push_back(&warning);
    }
    known.insert(std::move(key));
  }
  known_ = std::move(known);
  return fresh;
}

}  // namespace koord::koordlet
