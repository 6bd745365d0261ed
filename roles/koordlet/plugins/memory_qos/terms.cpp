// koordinator.sh/memoryQOS: see terms.hpp.
#include "plugins/memory_qos/terms.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "framework/objects/annotations.hpp"
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/pointer.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kMaxPolicyName = 64;

std::shared_ptr<const MemoryTerms> memory_terms(const api::ObjectMeta& meta,
                                                std::vector<std::string>& complaints) {
  const auto document = annotation(meta, api::kMemoryQos, complaints);
  if (!document) return nullptr;
  auto terms = std::make_shared<MemoryTerms>();
  const json::Value* policy = json::find(*document, "policy");
  if (policy && !policy->is_null() && !policy->is_string()) {
    complaints.push_back(fmt::format("{}: /policy: expected a string", api::kMemoryQos));
    return nullptr;
  }
  if (policy && policy->is_string()) terms->policy = policy->text().substr(0, kMaxPolicyName);
  auto qos = api::decode<api::MemoryQos>(*document);
  if (!qos) {  // as a whole, as upstream reads it
    complaints.push_back(fmt::format("{}: {}", api::kMemoryQos, qos.error().message()));
    return nullptr;
  }
  terms->qos = *qos;
  return terms;
}

}  // namespace

void read_memory_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& complaints) {
  terms.put(memory_terms(pod.metadata, complaints));
}

}  // namespace koord::koordlet
