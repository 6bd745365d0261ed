#include "koord/api/koordinator/renamed_resources.hpp"

#include <algorithm>
#include <utility>

namespace koord::api {
namespace {

void rename(ResourceList& list, RenamedResource names) {
  const Quantity* const found = list.find(names.from);
  if (found == nullptr) return;
  if (names.to.empty()) {
    list.erase(names.from);
  } else if (!list.contains(names.to)) {
    Quantity quantity = names.from == "cpu" ? Quantity::from_int(found->milli_value()) : *found;
    list.erase(names.from);
    list[names.to] = std::move(quantity);
  }
}

template <class Visit>
void each_list(const Pod& pod, Visit&& visit) {
  for (const auto* containers : {&pod.spec.init_containers, &pod.spec.containers})
    for (const Container& c : *containers) {
      visit(c.resources.requests);
      visit(c.resources.limits);
    }
  visit(pod.spec.overhead);
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

bool has_any(const ResourceList& list, std::span<const RenamedResource> names) {
  return std::any_of(list.begin(), list.end(), [&](const auto& entry) {
    return std::any_of(names.begin(), names.end(),
                       [&](const RenamedResource& r) { return r.from == entry.key && !list.contains(r.to); });
  });
}

void rename(ResourceList& list, std::span<const RenamedResource> names) {
  for (const RenamedResource& r : names) rename(list, r);
}

bool has_any(const Pod& pod, std::span<const RenamedResource> names) {
  bool found = false;
  each_list(pod, [&](const ResourceList& list) { found = found || has_any(list, names); });
  return found;
}

void rename(Pod& pod, std::span<const RenamedResource> names) {
  each_list(pod, [&](const ResourceList& list) { rename(const_cast<ResourceList&>(list), names); });
}

std::vector<RenamedResource> replaced_resources(std::string_view annotation) {
  std::vector<RenamedResource> out, under_others;
  while (!annotation.empty()) {
    const std::size_t comma = std::min(annotation.find(','), annotation.size());
    const std::string_view part = annotation.substr(0, comma);
    annotation.remove_prefix(std::min(comma + 1, annotation.size()));
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos || part.find(':', colon + 1) != std::string_view::npos) continue;
    const RenamedResource r{trim(part.substr(0, colon)), trim(part.substr(colon + 1))};
    if (r.to.empty()) {
      out.push_back(r);
      continue;
    }
    std::erase_if(under_others, [&](const RenamedResource& before) { return before.from == r.from; });
    under_others.push_back(r);
  }
  out.insert(out.end(), under_others.begin(), under_others.end());
  return out;
}

}  // namespace koord::api
