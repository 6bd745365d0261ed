// Cells and columns of what makes pods: Deployments, ReplicaSets, StatefulSets, Jobs.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/values/time.hpp"
#include "sandbox/columns/cells.hpp"
#include "sandbox/columns/rows.hpp"

namespace koord::sandbox {
namespace {

std::string join_containers(const json::Value& spec, const char* field) {
  std::string out;
  if (const json::Value* list = find(spec, "containers"))
    for (const auto& container : list->elements()) join(out, text_at(container, field));
  return out;
}

void workload_tail(const json::Value& object, Cells& cells) {
  const json::Value* pod = find(object, "spec", "template", "spec");
  text(cells, pod ? join_containers(*pod, "name") : "");
  text(cells, pod ? join_containers(*pod, "image") : "");
  text(cells, or_none(label_pairs(find(object, "spec", "selector", "matchLabels"))));
}

void deployment_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, fmt::format("{}/{}", int_at(object, "status", "readyReplicas").value_or(0),
                          int_at(object, "spec", "replicas").value_or(0)));
  number(cells, int_at(object, "status", "updatedReplicas").value_or(0));
  number(cells, int_at(object, "status", "availableReplicas").value_or(0));
  age(cells, object, now);
  workload_tail(object, cells);
}

void replica_set_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  number(cells, int_at(object, "spec", "replicas").value_or(0));
  number(cells, int_at(object, "status", "replicas").value_or(0));
  number(cells, int_at(object, "status", "readyReplicas").value_or(0));
  age(cells, object, now);
  workload_tail(object, cells);
}

void stateful_set_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, fmt::format("{}/{}", int_at(object, "status", "readyReplicas").value_or(0),
                          int_at(object, "spec", "replicas").value_or(0)));
  age(cells, object, now);
  const json::Value* pod = find(object, "spec", "template", "spec");
  text(cells, pod ? join_containers(*pod, "name") : "");
  text(cells, pod ? join_containers(*pod, "image") : "");
}

void revision_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  std::string controller = "<none>";
  if (const json::Value* owners = find(object, "metadata", "ownerReferences"))
    for (const json::Value& owner : owners->elements()) {
      if (!true_at(owner, "controller")) continue;
      const std::string_view version = text_at(owner, "apiVersion");
      std::string kind(text_at(owner, "kind"));
      for (char& c : kind)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      const std::size_t slash = version.find('/');
      controller = slash == std::string_view::npos
                       ? fmt::format("{}/{}", kind, text_at(owner, "name"))
                       : fmt::format("{}.{}/{}", kind, version.substr(0, slash), text_at(owner, "name"));
    }
  text(cells, controller);
  number(cells, int_at(object, "revision").value_or(0));
  age(cells, object, now);
}

void job_cells(const json::Value& object, WallTime now, Cells& cells) {
  const auto says = [&](const char* type) {
    const json::Value* conditions = find(object, "status", "conditions");
    return conditions && std::ranges::any_of(conditions->elements(), [&](const json::Value& each) {
             return text_at(each, "type") == type && text_at(each, "status") == "True";
           });
  };
  text(cells, name_of(object));
  const bool going = !text_at(object, "metadata", "deletionTimestamp").empty();
  text(cells, says("Complete")    ? "Complete"
              : says("Failed")    ? "Failed"
              : going             ? "Terminating"
              : says("Suspended") ? "Suspended"
                                  : "Running");
  const std::int64_t succeeded = int_at(object, "status", "succeeded").value_or(0),
                     parallelism = int_at(object, "spec", "parallelism").value_or(0);
  if (const auto completions = int_at(object, "spec", "completions"))
    text(cells, fmt::format("{}/{}", succeeded, *completions));
  else if (parallelism > 1)
    text(cells, fmt::format("{}/1 of {}", succeeded, parallelism));
  else
    text(cells, fmt::format("{}/1", succeeded));
  const auto start = api::Time::parse(text_at(object, "status", "startTime")),
             end = api::Time::parse(text_at(object, "status", "completionTime"));
  text(cells, start ? human_duration(
                          std::chrono::floor<std::chrono::seconds>((end ? end->wall() : now) - start->wall()))
                    : "");
  age(cells, object, now);
  workload_tail(object, cells);
}

constexpr Head kDeployments[] = {
    {"Name"},           {"Ready"},      {"Up-to-date", "integer"}, {"Available", "integer"}, {"Age"},
    wide("Containers"), wide("Images"), wide("Selector")};
constexpr Head kReplicaSets[] = {
    {"Name"}, {"Desired", "integer"}, {"Current", "integer"}, {"Ready", "integer"},
    {"Age"},  wide("Containers"),     wide("Images"),         wide("Selector")};
constexpr Head kStatefulSets[] = {{"Name"}, {"Ready"}, {"Age"}, wide("Containers"), wide("Images")};
constexpr Head kRevisions[] = {{"Name"}, {"Controller"}, {"Revision"}, {"Age"}};
constexpr Head kJobs[] = {{"Name"}, {"Status"},         {"Completions"}, {"Duration"},
                          {"Age"},  wide("Containers"), wide("Images"),  wide("Selector")};

constexpr KindColumns kRows[] = {
    {"apps", "deployments", deployment_cells, kDeployments},
    {"apps", "replicasets", replica_set_cells, kReplicaSets},
    {"apps", "statefulsets", stateful_set_cells, kStatefulSets},
    {"apps", "controllerrevisions", revision_cells, kRevisions},
    {"batch", "jobs", job_cells, kJobs},
};

}  // namespace

std::span<const KindColumns> workload_columns() { return kRows; }

}  // namespace koord::sandbox
