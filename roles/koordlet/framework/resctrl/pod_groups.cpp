// The groups of pods: see pod_groups.hpp.
#include "framework/resctrl/pod_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace koord::koordlet {

namespace {

constexpr std::size_t kLongestUid = 64;

}  // namespace

std::string pod_group(std::string_view uid) {
  const bool good =
      !uid.empty() && uid.size() <= kLongestUid &&
      std::ranges::all_of(uid, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  return good ? fmt::format("{}{}", kPodGroups, uid) : std::string();
}

}  // namespace koord::koordlet
