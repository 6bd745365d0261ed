// koordinator.sh/cpuBurst: see terms.hpp.
#include "plugins/cpu_burst/terms.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "framework/objects/annotations.hpp"
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/json/pointer.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kMaxPolicyName = 64;

std::shared_ptr<const BurstTerms> burst_terms(const api::ObjectMeta& meta,
                                              std::vector<std::string>& complaints) {
  const auto document = annotation(meta, api::kCpuBurst, complaints);
  if (!document) return nullptr;
  const std::size_t before = complaints.size();
  auto terms = std::make_shared<BurstTerms>();
  const auto integer = [&](std::string_view key) {
    return integer_of(*document, key, api::kCpuBurst, complaints);
  };
  terms->cpu_burst_percent = integer("cpuBurstPercent");
  terms->cfs_quota_burst_percent = integer("cfsQuotaBurstPercent");
  terms->cfs_quota_burst_period_seconds = integer("cfsQuotaBurstPeriodSeconds");
  if (const json::Value* policy = json::find(*document, "policy"); policy && !policy->is_null()) {
    if (policy->is_string())
      terms->policy = policy->text().substr(0, kMaxPolicyName);
    else
      complaints.push_back(fmt::format("{}: /policy: expected a string", api::kCpuBurst));
  }
  if (complaints.size() > before) return nullptr;  // as a whole, as upstream reads it
  return terms;
}

}  // namespace

void read_burst_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& complaints) {
  terms.put(burst_terms(pod.metadata, complaints));
}

}  // namespace koord::koordlet
