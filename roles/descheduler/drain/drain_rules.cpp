// See drain_rules.hpp.
#include "drain/drain_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/drain.hpp"

namespace koord::descheduler::drain {

std::string drain_name(std::string_view group, std::string_view node) {
  std::string name = fmt::format("{}-{}", group, node);
  if (name.size() <= kMaxName) return name;
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  name.resize(kMaxName - 17);
  while (name.back() == '.' || name.back() == '-') name.pop_back();
  return fmt::format("{}-{:016x}", name, hash);
}

std::string part_name(std::string_view drain, std::string_view pod_uid) {
  return fmt::format("{}-{}", drain, pod_uid.substr(0, 8));
}

std::optional<WallTime> ends_at(const api::ObjectMeta& meta, const std::optional<api::Duration>& ttl) {
  if (!ttl || ttl->value.count() <= 0) return std::nullopt;
  return meta.creation_timestamp.wall() + ttl->value;
}

bool is_abort_wanted(const api::SymbolMap& labels) {
  return api::value_or(labels, api::kDrainAbortLabel) == "true" || is_clean_up_wanted(labels);
}

bool is_clean_up_wanted(const api::SymbolMap& labels) {
  return api::value_or(labels, api::kDrainCleanTaintLabel) == "true";
}

bool is_ended(const api::DrainNodeGroup& group) {
  const Symbol& phase = group.status.phase;
  return phase == "Succeeded" || phase == "Failed" || phase == "Aborted";
}

bool is_refused(const api::DrainNode& drain) {
  return drain.spec.confirm_state == "Rejected" || drain.spec.confirm_state == "Aborted";
}

bool is_made_by(const api::ObjectMeta& part, const api::DrainNode& drain) {
  const api::OwnerReference* const owner = api::controller_of(part);
  return api::value_or(part.labels, api::kDrainNodeLabel) == drain.metadata.name && owner != nullptr &&
         owner->uid == drain.metadata.uid;
}

bool stays(const api::Pod& pod) {
  const api::SymbolMap& annotations = pod.metadata.annotations;
  const api::OwnerReference* const owner = api::controller_of(pod.metadata);
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed" ||
         (owner != nullptr && owner->kind == "DaemonSet") ||
         annotations.contains("kubernetes.io/config.mirror") ||
         api::value_or(annotations, "kubernetes.io/config.source", "api") != "api";
}

const api::DrainNodeCondition* condition_of(const api::DrainNodeStatus& status, std::string_view type) {
  const auto at = std::ranges::find(status.conditions, type,
                                    [](const api::DrainNodeCondition& c) { return c.type.view(); });
  return at == status.conditions.end() ? nullptr : &*at;
}

bool holds(const api::DrainNodeStatus& status, std::string_view type) {
  const api::DrainNodeCondition* const condition = condition_of(status, type);
  return condition != nullptr && condition->status == "True";
}

void set_condition(api::DrainNodeStatus& status, std::string_view type, bool value, std::string reason,
                   std::string message, api::Time now) {
  const std::string_view text = value ? "True" : "False";
  auto at = std::ranges::find(status.conditions, type,
                              [](const api::DrainNodeCondition& c) { return c.type.view(); });
  if (at == status.conditions.end()) {
    at = status.conditions.emplace(at);
    at->type = Symbol(type);
  }
  if (at->status != text) at->last_transition_time = now;
  at->status = Symbol(text);
  at->reason = std::move(reason);
  at->message = std::move(message);
}

}  // namespace koord::descheduler::drain
