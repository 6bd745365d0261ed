// ReservationArgs: their rows, and what is wrong with them in Koordinator's words.
#include "scheduling/plugins/reservation/args.hpp"

#include <fmt/format.h>

#include "koord/api/rules/validation_names.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"
#include "koord/scheduling/cluster/resources.hpp"

namespace koord::scheduling {

namespace reservation {

namespace {

void not_negative(std::int64_t value, std::string_view path, FieldErrors& errors) {
  if (value < 0) errors.invalid(path, std::to_string(value), "must be non-negative");
}

bool is_extended(std::string_view name) { return is_extended_resource(name) && api::is_qualified_name(name); }

}  // namespace

void ReservationArgs::validate(const std::string&, FieldErrors& errors) const {
  if (*min_candidate_nodes_percentage < 0 || *min_candidate_nodes_percentage > 100)
    errors.invalid("MinCandidateNodesPercentage", std::to_string(*min_candidate_nodes_percentage),
                   "must be in the range [0, 100]");
  not_negative(*min_candidate_nodes_absolute, "MinCandidateNodesAbsolute", errors);
  not_negative(gc_duration_seconds, "GcDuration", errors);
  not_negative(gc_interval_seconds, "GcInterval", errors);
  not_negative(resync_interval_seconds, "ResyncIntervalSeconds", errors);
  for (std::size_t i = 0; i < ignored_resources.size(); ++i)
    if (const std::string& name = ignored_resources[i]; !is_extended(name))
      errors.invalid(
          fmt::format("ignoredResources[{}]", i), quote(name),
          "must be an extended resource name (e.g. example.com/gpu); native resources cannot be ignored");
  for (std::size_t i = 0; i < ignored_resource_groups.size(); ++i) {
    const std::string& group = ignored_resource_groups[i];
    const std::string at = fmt::format("ignoredResourceGroups[{}]", i);
    if (group.find('/') != std::string::npos)
      errors.invalid(at, quote(group), "resource group name can't contain '/'");
    else if (!is_extended(fmt::format("{}/x", group)))
      errors.invalid(at, quote(group),
                     "must be usable as an extended resource prefix (a valid DNS subdomain and not the "
                     "reserved \"kubernetes.io\" namespace)");
  }
}

KOORD_SCHEMA(PreAllocationConfig,
             ROW(enable_cluster_mode).doc("Pods are chosen by label and annotation in all of the cluster."),
             ROW(cluster_label_key).doc("Label of the pods whose room may be reserved."),
             ROW(cluster_priority_annotation_key).doc("Annotation by which they are ordered."),
             ROW(prefer_no_pre_allocated_pods).doc("Room that no pod has comes first."));
KOORD_SCHEMA(SelectorIndexArgs, ROW(enabled).doc("Nodes are found by the keys of reservations' labels."),
             ROW(key_prefixes).doc("Prefixes of these keys."), ROW(keys).doc("Whole keys."));
KOORD_OBJECT(
    ReservationArgs, args_kind("ReservationArgs"),
    ROW(enable_preemption)
        .default_json("false")
        .doc("Pods of a lower priority make room for reservations, and for pods."),
    ROW(min_candidate_nodes_percentage).default_json("10").doc("Of all nodes, that preemption looks at."),
    ROW(min_candidate_nodes_absolute).default_json("100").doc("At least so many of them."),
    ROW(controller_workers).default_json("1"),
    ROW(gc_duration_seconds).default_json("86400").doc("What is over goes after so long."),
    ROW(gc_interval_seconds).default_json("60"), ROW(disable_garbage_collection),
    ROW(resync_interval_seconds).default_json("60"), ROW(pre_allocation_config),
    ROW(ignored_resources).doc("Extended resources that reservations do not count."),
    ROW(ignored_resource_groups).doc("The same by their prefixes."), ROW(reservation_selector_index));

}  // namespace reservation

}  // namespace koord::scheduling
