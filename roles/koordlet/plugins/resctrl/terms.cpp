// node.koordinator.sh/resctrl: see terms.hpp.
#include "plugins/resctrl/terms.hpp"

#include <memory>
#include <utility>

#include "framework/objects/annotations.hpp"
#include "framework/resctrl/pod_groups.hpp"
#include "plugins/resctrl/classes.hpp"

namespace koord::koordlet {

void read_resctrl_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  if (auto said = read<api::PodResctrl>(pod.metadata, warnings); said && said->says_something())
    terms.put(std::make_shared<const api::PodResctrl>(std::move(*said)));
}

namespace resctrl {

bool has_own_parts(const PodInfo& pod) {
  return pod.terms.find<api::PodResctrl>() != nullptr && !pod_group(pod.uid).empty();
}

}  // namespace resctrl

}  // namespace koord::koordlet
