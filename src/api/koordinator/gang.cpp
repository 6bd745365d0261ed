#include "koord/api/koordinator/gang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "koord/api/schema/table.hpp"
#include "koord/api/values/time.hpp"
#include "whole_number.hpp"

namespace koord::api {
namespace {

constexpr std::size_t kMostWarnings = 16, kMostOfText = 64;

struct Policy {
  std::string_view name;
  GangMatchPolicy policy;
};
constexpr Policy kPolicies[] = {{"only-waiting", GangMatchPolicy::only_waiting},
                                {"waiting-and-running", GangMatchPolicy::waiting_and_running},
                                {"once-satisfied", GangMatchPolicy::once_satisfied}};

using Warn = std::function<void(std::string_view name, std::string_view text, std::string_view why)>;

std::string_view said(const ObjectMeta& object, std::string_view annotation) {
  return value_or(object.annotations, annotation);
}

std::vector<std::string> read_groups(const ObjectMeta& object, const Warn& warn) {
  auto read = read_annotation<AnnotatedNames>(object.annotations, kGangGroups);
  if (read) return *read ? std::move((*read)->names) : std::vector<std::string>();
  warn(kGangGroups, said(object, kGangGroups), "no list of names");
  return {};
}

GangTerms read_terms(const ObjectMeta& object, const Warn& warn) {
  GangTerms terms;
  const std::string_view label = value_or(object.labels, kGangMinLabel);
  const std::string_view min = !label.empty() ? label : said(object, kGangMin);
  terms.min = whole_number<int32_t>(min);
  if (!min.empty() && !terms.min)
    warn(!label.empty() ? kGangMinLabel : kGangMin, min, "no whole number: the gang waits");
  const int32_t least = terms.min.value_or(0);
  const std::string_view total = said(object, kGangTotal);
  const auto number = whole_number<int32_t>(total);
  if (!total.empty() && !number) warn(kGangTotal, total, "no whole number");
  if (number && *number < least) warn(kGangTotal, total, "less than the least number");
  terms.total = std::max(number.value_or(least), least);
  if (const std::string_view time = said(object, kGangWaitingTime); !time.empty()) {
    const auto parsed = Duration::parse(time);
    if (parsed && parsed->value.count() > 0)
      terms.waiting_time = parsed->value;
    else
      warn(kGangWaitingTime, time, "no time above zero");
  }
  const std::string_view mode = said(object, kGangMode);
  terms.strict = mode != "NonStrict";
  if (!mode.empty() && terms.strict && mode != "Strict")
    warn(kGangMode, mode, "neither Strict nor NonStrict");
  std::string_view policy = said(object, kGangMatchPolicy);
  if (policy.empty()) policy = said(object, kGangMatchPolicyAlias);
  const auto* const row = std::ranges::find(kPolicies, policy, &Policy::name);
  if (row != std::end(kPolicies))
    terms.match_policy = row->policy;
  else if (!policy.empty())
    warn(kGangMatchPolicy, policy, "no match policy");
  terms.groups = read_groups(object, warn);
  if (auto topology = read_annotation<NetworkTopologySpec>(object.annotations))
    terms.topology = std::move(*topology);
  else
    warn(NetworkTopologySpec::kAnnotation, said(object, NetworkTopologySpec::kAnnotation),
         "no JSON of a NetworkTopologySpec");
  return terms;
}

}  // namespace

KOORD_SCHEMA(NetworkTopologyGatherRule, ROW(layer).always(), ROW(strategy).always(), ROW(pod_count_multiple));
KOORD_SCHEMA(NetworkTopologySpec, ROW(gather_strategy));

std::optional<GangReference> gang_of(const ObjectMeta& pod) {
  const auto named = [](const SymbolMap& map, std::string_view key) {
    const Symbol* const name = map.find(key);
    return name != nullptr && !name->empty() ? name : nullptr;
  };
  if (const Symbol* name = named(pod.labels, kPodGroupLabel))
    return GangReference{*name, GangSource::pod_group};
  if (const Symbol* name = named(pod.labels, kGangNameLabel)) return GangReference{*name, GangSource::labels};
  if (const Symbol* name = named(pod.annotations, kGangName))
    return GangReference{*name, GangSource::annotations};
  return std::nullopt;
}

GangTerms gang_terms(const ObjectMeta& object) {
  return read_terms(object, [](std::string_view, std::string_view, std::string_view) {});
}

std::vector<std::string> gang_warnings(const ObjectMeta& object) {
  std::vector<std::string> lines;
  (void)read_terms(object, [&](std::string_view name, std::string_view text, std::string_view why) {
    if (lines.size() < kMostWarnings)
      lines.push_back(fmt::format("{}: \"{}\" is {}", name, text.substr(0, kMostOfText), why));
  });
  return lines;
}

std::string gang_group_id(std::vector<std::string> groups) {
  std::ranges::sort(groups);
  return fmt::format("{}", fmt::join(groups, ","));
}

std::optional<std::int64_t> network_topology_index(const ObjectMeta& pod) {
  return whole_number<std::int64_t>(said(pod, kNetworkTopologyIndex));
}

}  // namespace koord::api
