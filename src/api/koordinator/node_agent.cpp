#include "koord/api/koordinator/node_agent.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"
#include "rooted.hpp"
#include "whole_number.hpp"

namespace koord::api {
namespace {

constexpr std::int64_t kLeastIdentity = -1, kMostIdentity = 2;
constexpr std::size_t kMostPolicies = 64, kMostOfText = 64;

Result<> check_containers(std::size_t count) {
  if (count <= kMostContainers) return {};
  return Error(Code::too_large, fmt::format("more than {} containers", kMostContainers));
}

}  // namespace

KOORD_SCHEMA(PodCpuBurst, ROW(policy), ROW(cpu_burst_percent), ROW(cfs_quota_burst_percent),
             ROW(cfs_quota_burst_period_seconds));
KOORD_SCHEMA(PodCpuQos, ROW(enable), ROW(group_identity));
KOORD_SCHEMA(PodMemoryQos, ROW(policy), ROW(qos).inlined());
KOORD_SCHEMA(ExtendedContainerSpec, ROW(limits), ROW(requests));
KOORD_SCHEMA(ExtendedResourceSpec, ROW(containers));

Result<> decode_annotation(std::string_view text, PodCpuQos& to) {
  KOORD_CHECK(decode(text, schema<PodCpuQos>(), &to));
  if (!to.group_identity || (*to.group_identity >= kLeastIdentity && *to.group_identity <= kMostIdentity))
    return {};
  return Error(Code::parse, fmt::format(".groupIdentity: {} is not from {} to {}", *to.group_identity,
                                        kLeastIdentity, kMostIdentity));
}

Result<std::optional<std::int64_t>> oom_score(const ObjectMeta& pod) {
  const std::string_view text = value_or(pod.annotations, kOomScoreAdj);
  if (text.empty()) return std::optional<std::int64_t>();
  const auto score = whole_number<std::int64_t>(text);
  if (!score)
    return Error(Code::parse,
                 fmt::format("{}: \"{}\" is no whole number", kOomScoreAdj, text.substr(0, kMostOfText)));
  if (*score >= kLeastOomScore && *score <= kMostOomScore) return score;
  return Error(Code::parse, fmt::format("{}: {} is not from {} to {}", kOomScoreAdj, *score, kLeastOomScore,
                                        kMostOomScore));
}

Result<> decode_annotation(std::string_view text, OomScores& to) {
  KOORD_CHECK(decode_rooted(text, to.by_container));
  return check_containers(to.by_container.size());
}
std::string encode_annotation(const OomScores& value) { return encode_rooted(value.by_container); }

bool is_eviction_enabled(const ObjectMeta& pod) {
  return value_or(pod.labels, kEvictionEnabledLabel) == "true";
}

Result<std::optional<AnnotatedNames>> eviction_policies(const ObjectMeta& pod) {
  const Symbol* const text = pod.annotations.find(kEvictionPolicy);
  if (text != nullptr && text->empty())
    return Error(Code::parse, fmt::format("{}: empty, expected a list of names", kEvictionPolicy));
  auto policies = read_annotation<AnnotatedNames>(pod.annotations, kEvictionPolicy);
  if (policies && *policies && (*policies)->names.size() > kMostPolicies)
    return Error(Code::too_large, fmt::format("{}: more than {} names", kEvictionPolicy, kMostPolicies));
  return policies;
}

Result<std::int32_t> eviction_priority(const ObjectMeta& pod) {
  const Symbol* const text = pod.annotations.find(kEvictionPriority);
  if (text == nullptr) return 0;
  if (const auto priority = whole_number<std::int32_t>(*text)) return *priority;
  return Error(Code::parse, fmt::format("{}: \"{}\" is no 32-bit number", kEvictionPriority,
                                        text->view().substr(0, kMostOfText)));
}

Result<> decode_annotation(std::string_view text, ExtendedResourceSpec& to) {
  KOORD_CHECK(decode(text, schema<ExtendedResourceSpec>(), &to));
  return check_containers(to.containers.size());
}

}  // namespace koord::api
