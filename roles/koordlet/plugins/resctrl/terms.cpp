// node.koordinator.sh/resctrl: see terms.hpp.
#include "plugins/resctrl/terms.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include "framework/objects/annotations.hpp"
#include "plugins/resctrl/classes.hpp"

namespace koord::koordlet {

void read_resctrl_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  if (auto said = read<api::PodResctrl>(pod.metadata, warnings); said && said->says_something())
    terms.put(std::make_shared<const api::PodResctrl>(std::move(*said)));
}

namespace resctrl {

namespace {

constexpr std::size_t kLongestUid = 64;

/// Part of a folder's name.
bool is_uid(std::string_view uid) {
  return !uid.empty() && uid.size() <= kLongestUid && std::ranges::all_of(uid, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
}

}  // namespace

bool has_own_parts(const PodInfo& pod) {
  return pod.terms.find<api::PodResctrl>() != nullptr && is_uid(pod.uid);
}

}  // namespace resctrl

}  // namespace koord::koordlet
