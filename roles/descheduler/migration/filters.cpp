// Filters: see filters.hpp.
#include "migration/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "evictions/workload_share.hpp"
#include "koord/api/koordinator/descheduling.hpp"

namespace koord::descheduler::migration {

namespace {

using Is = Verdict::Is;

Verdict waits(std::string why) { return {Is::waits, std::move(why)}; }
Verdict forbidden(std::string why) { return {Is::forbidden, std::move(why)}; }

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string name_of(const api::OwnerReference& owner) {
  return fmt::format("{} {}", owner.kind.view(), owner.name.view());
}

Verdict unknown(const api::OwnerReference& owner) {
  return waits(fmt::format("the replicas of {} are not known yet", name_of(owner)));
}

/// Of a count that does not hold the pod itself.
Verdict at_most(const std::optional<std::int32_t>& limit, std::size_t count, std::string_view what) {
  if (!limit || *limit <= 0 || count < static_cast<std::size_t>(*limit)) return {};
  return waits(fmt::format("{} reached: {} of {} pods are migrating", what, count, *limit));
}

}  // namespace

bool is_available(const api::Pod& pod) {
  if (pod.metadata.deletion_timestamp || pod.status.phase == "Succeeded" || pod.status.phase == "Failed")
    return false;
  return std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

Filters::Filters(std::shared_ptr<const MigrationControllerArgs> args, const JobCounts& counts,
                 Workloads& workloads,
                 std::function<std::optional<std::int32_t>(std::string_view)> priority_of)
    : args_(std::move(args)),
      counts_(counts),
      workloads_(workloads),
      priority_of_(std::move(priority_of)),
      rules_(args_->evictable_rules()) {}

Verdict Filters::candidate(const api::Pod& pod) {
  if (counts_.has_job(pod, Counted::unfinished)) return waits("there is a PodMigrationJob for the pod");
  if (args_->default_job_mode == "ReservationFirst" &&
      !contains(args_->scheduler_names, pod.spec.scheduler_name.view()))
    return forbidden(fmt::format("its scheduler {} makes no reservations", pod.spec.scheduler_name.view()));
  if (has_evict_annotation(pod)) return {};
  if (Verdict verdict = lasting(pod); !verdict.passes()) return verdict;
  return limits(pod, Counted::unfinished);
}

Verdict Filters::arbitrate(const api::Pod& pod) {
  if (has_evict_annotation(pod)) return {};
  if (Verdict verdict = lasting(pod); !verdict.passes()) return verdict;
  return limits(pod, Counted::arbitrated);
}

Verdict Filters::lasting(const api::Pod& pod) {
  if (args_->namespaces && !args_->skips("Namespaces")) {
    const std::string_view ns = pod.metadata.namespace_.view();
    if ((!args_->namespaces->include.empty() && !contains(args_->namespaces->include, ns)) ||
        contains(args_->namespaces->exclude, ns))
      return forbidden(fmt::format("pods of namespace {} stay", ns));
  }
  if (api::eviction_cost(pod.metadata.annotations) == std::numeric_limits<std::int32_t>::max())
    return forbidden("its eviction cost says never");
  if (const std::string_view name = args_->priority_class(); !name.empty()) {
    rules_.priority_threshold = priority_of_(name);
    if (!rules_.priority_threshold)
      return waits(fmt::format("the PriorityClass {} of priorityThreshold is not there", name));
  }
  if (const auto why = why_not_evictable(pod, rules_); !why.empty())
    return forbidden(fmt::format("{}", fmt::join(why, ", ")));
  return args_->skips("ExpectedReplicas") ? Verdict{} : expected_replicas(pod);
}

Verdict Filters::expected_replicas(const api::Pod& pod) {
  const api::OwnerReference* owner = api::controller_of(pod.metadata);
  if (!owner || args_->skip_check_expected_replicas.value_or(false)) return {};
  const Workload workload = workloads_.find(*owner, pod.metadata.namespace_.view());
  if (!workload.known) return unknown(*owner);
  const auto migrating = most_away(workload.replicas, args_->max_migrating_per_workload);
  const auto unavailable = most_away(workload.replicas, args_->max_unavailable_per_workload);
  if (!migrating || !unavailable) return forbidden("the limits of its workload cannot be read");
  if (workload.replicas == 1 || workload.replicas == *migrating || workload.replicas == *unavailable)
    return forbidden(
        fmt::format("{} has {} replicas, all of which might be away", name_of(*owner), workload.replicas));
  return {};
}

Verdict Filters::limits(const api::Pod& pod, Counted which) {
  Verdict verdict;
  if (!args_->skips("MaxMigratingGlobally"))
    verdict = at_most(args_->max_migrating_globally, counts_.in_all(pod, which), "maxMigratingGlobally");
  const std::string_view node = pod.spec.node_name.view();
  if (verdict.passes() && !args_->skips("MaxMigratingPerNode") && !node.empty())
    verdict = at_most(args_->max_migrating_per_node, counts_.of_node(node, pod, which),
                      fmt::format("maxMigratingPerNode of {}", node));
  if (verdict.passes() && !args_->skips("MaxMigratingPerNamespace")) {
    const std::string_view ns = pod.metadata.namespace_.view();
    verdict = at_most(args_->max_migrating_per_namespace, counts_.of_namespace(ns, pod, which),
                      fmt::format("maxMigratingPerNamespace of {}", ns));
  }
  return verdict.passes() ? workload_limits(pod, which) : verdict;
}

Verdict Filters::workload_limits(const api::Pod& pod, Counted which) {
  const bool any_migrating = args_->skips("MaxMigratingPerWorkload");
  const bool any_unavailable = args_->skips("MaxUnavailablePerWorkload");
  const api::OwnerReference* owner = api::controller_of(pod.metadata);
  if (!owner || (any_migrating && any_unavailable)) return {};
  const Workload workload = workloads_.find(*owner, pod.metadata.namespace_.view());
  if (!workload.known) return unknown(*owner);
  const auto most_migrating = most_away(workload.replicas, args_->max_migrating_per_workload);
  const auto most_unavailable = most_away(workload.replicas, args_->max_unavailable_per_workload);
  if ((!any_migrating && !most_migrating) || (!any_unavailable && !most_unavailable))
    return waits("the limits of its workload cannot be read");

  const auto migrating = counts_.of_controller(owner->uid.view(), pod, which);
  if (!any_migrating && !migrating.empty() &&
      migrating.size() >= static_cast<std::size_t>(std::max<std::int64_t>(*most_migrating, 0)))
    return waits(fmt::format("maxMigratingPerWorkload of {} reached: {} of {} pods are migrating",
                             name_of(*owner), migrating.size(), *most_migrating));
  if (any_unavailable) return {};
  const auto [at, fresh] = unavailable_.try_emplace(owner->uid.str(), 0);
  if (fresh)
    for (const std::string& uid : workload.owners)
      for (const auto& each : workloads_.pods_of(uid)) at->second += is_available(*each) ? 0 : 1;
  std::size_t away = at->second;
  for (const auto& each : migrating) away += is_available(*each) ? 1 : 0;
  if (static_cast<std::int64_t>(away) >= *most_unavailable)
    return waits(fmt::format("maxUnavailablePerWorkload of {} reached: {} of {} pods are away",
                             name_of(*owner), away, *most_unavailable));
  return {};
}

}  // namespace koord::descheduler::migration
