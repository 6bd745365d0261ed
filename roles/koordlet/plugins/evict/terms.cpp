// What labels and annotations say of eviction: see terms.hpp.
#include "plugins/evict/terms.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "framework/objects/annotations.hpp"
#include "framework/objects/pod_info.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

/// Names of gates; more are nobody's wish.
constexpr std::size_t kMaxPolicies = 64;

/// The gates that koordinator.sh/eviction-policy names. What cannot be read allows nobody.
std::optional<std::vector<std::string>> eviction_policies(const api::ObjectMeta& meta,
                                                          std::vector<std::string>& complaints) {
  const Symbol* const text = meta.annotations.find(api::kEvictionPolicy);
  if (text == nullptr) return std::nullopt;
  std::vector<std::string> policies;
  const auto document = text->size() <= kMaxAnnotation
                            ? json::parse(*text)
                            : Result<json::Document>(Error(Code::too_large, "longer than 64 KiB"));
  if (!document) {
    complaints.push_back(fmt::format("{}: {}", api::kEvictionPolicy, document.error().message()));
    return policies;
  }
  if (document->is_null()) return policies;
  if (!document->is_array() || document->size() > kMaxPolicies) {
    complaints.push_back(fmt::format("{}: expected a list of names", api::kEvictionPolicy));
    return policies;
  }
  for (const json::Value& policy : document->elements()) {
    if (!policy.is_string()) {
      complaints.push_back(fmt::format("{}: expected a list of names", api::kEvictionPolicy));
      return std::vector<std::string>();
    }
    policies.emplace_back(policy.text());
  }
  return policies;
}

/// Upstream's parser takes "+5", too.
std::string_view without_plus(std::string_view number) {
  const bool plus = number.starts_with('+') && !number.starts_with("+-");
  return plus ? number.substr(1) : number;
}

EvictionTerms terms_in(const api::Pod& pod, std::vector<std::string>& complaints) {
  const api::ObjectMeta& meta = pod.metadata;
  EvictionTerms terms;
  const auto is = [](const Symbol* found, std::string_view text) {
    return found != nullptr && found->view() == text;
  };
  terms.enabled = is(meta.labels.find(api::kEvictionEnabledLabel), "true");
  terms.policies = eviction_policies(meta, complaints);
  if (const Symbol* text = meta.annotations.find(api::kEvictionPriority);
      text != nullptr && !host::to_number(without_plus(text->view()), terms.priority)) {
    terms.priority = 0;
    complaints.push_back(
        fmt::format("{}: \"{}\" is no 32-bit number", api::kEvictionPriority, text->view().substr(0, 64)));
  }
  std::int64_t within = 0;
  if (const Symbol* text = meta.labels.find(api::kSubPriorityLabel);
      text != nullptr && host::to_number(text->view(), within))
    terms.within = within;
  return terms;
}

}  // namespace

const EvictionTerms& eviction_terms(const PodInfo& pod) {
  static const EvictionTerms kSilent;
  const EvictionTerms* const terms = pod.terms.find<EvictionTerms>();
  return terms != nullptr ? *terms : kSilent;
}

void read_eviction_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& complaints) {
  EvictionTerms found = terms_in(pod, complaints);
  if (!(found == EvictionTerms{})) terms.put(std::make_shared<const EvictionTerms>(std::move(found)));
}

}  // namespace koord::koordlet
