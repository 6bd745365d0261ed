// What labels and annotations say of eviction: see terms.hpp.
#include "plugins/evict/terms.hpp"

#include <memory>
#include <utility>

#include "framework/objects/pod_info.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {

namespace {

EvictionTerms terms_in(const api::Pod& pod, std::vector<std::string>& warnings) {
  EvictionTerms terms;
  terms.enabled = api::is_eviction_enabled(pod.metadata);
  auto policies = api::eviction_policies(pod.metadata);
  if (!policies) {
    warnings.push_back(policies.error().message());
    terms.policies.emplace();  // what cannot be read allows nobody
  } else if (*policies) {
    terms.policies = std::move((*policies)->names);
  }
  if (const auto priority = api::eviction_priority(pod.metadata))
    terms.priority = *priority;
  else
    warnings.push_back(priority.error().message());
  terms.within = api::sub_priority(pod);
  return terms;
}

}  // namespace

const EvictionTerms& eviction_terms(const PodInfo& pod) {
  static const EvictionTerms kSilent;
  const EvictionTerms* const terms = pod.terms.find<EvictionTerms>();
  return terms != nullptr ? *terms : kSilent;
}

void read_eviction_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  EvictionTerms found = terms_in(pod, warnings);
  if (!(found == EvictionTerms{})) terms.put(std::make_shared<const EvictionTerms>(std::move(found)));
}

}  // namespace koord::koordlet
