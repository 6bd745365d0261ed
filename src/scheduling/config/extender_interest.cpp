// ExtenderInterest: see extender_interest.hpp.
#include "koord/scheduling/config/extender_interest.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/config/config.hpp"

namespace koord::scheduling {

bool is_interested(const Extender& extender, const api::Pod& pod) {
  const auto& managed = extender.managed_resources;
  if (managed.empty()) return true;
  const auto among = [&](const api::ResourceList& list) {
    return std::any_of(list.begin(), list.end(), [&](const auto& amount) {
      return std::any_of(managed.begin(), managed.end(),
                         [&](const ExtenderManagedResource& m) { return amount.key == m.name; });
    });
  };
  const auto asks = [&](const api::Container& c) {
    return among(c.resources.requests) || among(c.resources.limits);
  };
  return std::any_of(pod.spec.containers.begin(), pod.spec.containers.end(), asks) ||
         std::any_of(pod.spec.init_containers.begin(), pod.spec.init_containers.end(), asks);
}

ExtenderInterest::ExtenderInterest(const std::vector<Extender>& extenders) {
  if (!extenders.empty()) extenders_ = std::make_shared<const std::vector<Extender>>(extenders);
}
ExtenderInterest::~ExtenderInterest() = default;

bool ExtenderInterest::in_nodes(const api::Pod& pod) const {
  return extenders_ && std::any_of(extenders_->begin(), extenders_->end(), [&](const Extender& e) {
           return !(e.filter_verb.empty() && e.prioritize_verb.empty()) && is_interested(e, pod);
         });
}

bool ExtenderInterest::in_victims(const api::Pod& pod) const {
  return extenders_ && std::any_of(extenders_->begin(), extenders_->end(), [&](const Extender& e) {
           return !e.preempt_verb.empty() && is_interested(e, pod);
         });
}

}  // namespace koord::scheduling
