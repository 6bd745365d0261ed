// Columns of the built-in kinds: names, priorities and cells as kube-apiserver prints them.
#include "sandbox/columns/columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/values/time.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/columns/cells.hpp"
#include "sandbox/columns/pod_row.hpp"
#include "sandbox/columns/storage_rows.hpp"

namespace koord::sandbox {

std::string human_duration(std::chrono::seconds age) {
  auto s = age.count();
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  if (s < 120) return fmt::format("{}s", s);
  auto minutes = s / 60;
  if (minutes < 10) return s % 60 ? fmt::format("{}m{}s", minutes, s % 60) : fmt::format("{}m", minutes);
  if (minutes < 180) return fmt::format("{}m", minutes);
  auto hours = s / 3600;
  if (hours < 8) return minutes % 60 ? fmt::format("{}h{}m", hours, minutes % 60) : fmt::format("{}h", hours);
  if (hours < 48) return fmt::format("{}h", hours);
  if (hours < 192)
    return hours % 24 ? fmt::format("{}d{}h", hours / 24, hours % 24) : fmt::format("{}d", hours / 24);
  auto days = hours / 24;
  if (days < 730) return fmt::format("{}d", days);
  if (days < 2920 && days % 365) return fmt::format("{}y{}d", days / 365, days % 365);
  return fmt::format("{}y", days / 365);
}

std::string age_of(std::string_view timestamp, WallTime now) {
  if (timestamp.empty()) return "<unknown>";
  auto time = api::Time::parse(timestamp);
  if (!time) return "<unknown>";
  return human_duration(std::chrono::floor<std::chrono::seconds>(now - time->wall()));
}

namespace {

std::size_t size_of(const json::Value* value) {
  return !value ? 0 : value->is_object() ? value->size() : value->is_array() ? value->size() : 0;
}

std::string join_containers(const json::Value& spec, const char* field) {
  std::string out;
  if (const json::Value* list = find(spec, "containers"))
    for (const auto& container : list->elements()) join(out, text_at(container, field));
  return out;
}

std::string label_pairs(const json::Value* labels) {
  std::string out;
  if (labels)
    for (const auto& label : labels->members())
      if (label.value.is_string()) join(out, fmt::format("{}={}", label.key(), label.value.text()));
  return out;
}

void node_cells(const json::Value& node, WallTime now, Cells& cells) {
  text(cells, name_of(node));
  std::string status = "Unknown";
  if (const json::Value* conditions = find(node, "status", "conditions");
      conditions && conditions->is_array())
    for (const auto& condition : conditions->elements())
      if (text_at(condition, "type") == "Ready")
        status = text_at(condition, "status") == "True" ? "Ready" : "NotReady";
  if (true_at(node, "spec", "unschedulable")) status += ",SchedulingDisabled";
  text(cells, status);
  std::string roles;
  if (const json::Value* labels = find(node, "metadata", "labels"))
    for (const auto& label : labels->members()) {
      constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
      if (label.key().starts_with(kPrefix) && label.key().size() > kPrefix.size())
        join(roles, label.key().substr(kPrefix.size()));
      else if (label.key() == "kubernetes.io/role" && label.value.is_string())
        join(roles, label.value.text());
    }
  text(cells, or_none(roles));
  age(cells, node, now);
  text(cells, text_at(node, "status", "nodeInfo", "kubeletVersion"));
  auto address = [&](std::string_view type) -> std::string_view {
    if (const json::Value* list = find(node, "status", "addresses"); list && list->is_array())
      for (const auto& each : list->elements())
        if (text_at(each, "type") == type) return text_at(each, "address");
    return "<none>";
  };
  text(cells, address("InternalIP"));
  text(cells, address("ExternalIP"));
  for (const char* field : {"osImage", "kernelVersion", "containerRuntimeVersion"}) {
    std::string_view value = text_at(node, "status", "nodeInfo", field);
    text(cells, value.empty() ? "<unknown>" : value);
  }
}

void namespace_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "status", "phase"));
  age(cells, object, now);
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

void replica_set_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  number(cells, int_at(object, "spec", "replicas").value_or(0));
  number(cells, int_at(object, "status", "replicas").value_or(0));
  number(cells, int_at(object, "status", "readyReplicas").value_or(0));
  age(cells, object, now);
  workload_tail(object, cells);
}

void event_cells(const json::Value& event, WallTime now, Cells& cells) {
  auto since = [&](std::string_view time) { return age_of(time, now); };
  std::string_view event_time = text_at(event, "eventTime"), first = text_at(event, "firstTimestamp"),
                   last = text_at(event, "lastTimestamp");
  if (first.empty()) first = event_time;
  if (last.empty()) last = text_at(event, "series", "lastObservedTime");
  if (last.empty()) last = first;
  auto count = int_at(event, "series", "count").value_or(int_at(event, "count").value_or(1));
  text(cells, since(last));
  text(cells, text_at(event, "type"));
  text(cells, text_at(event, "reason"));
  std::string kind(text_at(event, "involvedObject", "kind"));
  for (char& c : kind)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  std::string_view about = text_at(event, "involvedObject", "name");
  text(cells, about.empty() ? kind : fmt::format("{}/{}", kind, about));
  text(cells, text_at(event, "involvedObject", "fieldPath"));
  std::string source(text_at(event, "source", "component"));
  if (source.empty()) source = text_at(event, "reportingComponent");
  std::string_view host = text_at(event, "source", "host");
  text(cells, host.empty() ? source : fmt::format("{}, {}", source, host));
  std::string_view message = text_at(event, "message");
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.remove_suffix(1);
  text(cells, message);
  text(cells, since(first));
  number(cells, count);
  text(cells, name_of(event));
}

void lease_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "spec", "holderIdentity"));
  age(cells, object, now);
}

void crd_cells(const json::Value& object, WallTime, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "metadata", "creationTimestamp"));
}

void config_map_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  number(cells,
         static_cast<std::int64_t>(size_of(find(object, "data")) + size_of(find(object, "binaryData"))));
  age(cells, object, now);
}

void secret_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "type"));
  number(cells, static_cast<std::int64_t>(size_of(find(object, "data"))));
  age(cells, object, now);
}

void service_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "spec", "type"));
  text(cells, or_none(text_at(object, "spec", "clusterIP")));
  text(cells, "<none>");
  std::string ports;
  if (const json::Value* list = find(object, "spec", "ports"))
    for (const auto& port : list->elements())
      join(ports, fmt::format("{}/{}", int_at(port, "port").value_or(0), text_at(port, "protocol")));
  text(cells, or_none(ports));
  age(cells, object, now);
  text(cells, or_none(label_pairs(find(object, "spec", "selector"))));
}

void budget_cells(const json::Value& object, WallTime now, Cells& cells) {
  auto amount = [&](const char* field) {
    const json::Value* value = find(object, "spec", field);
    return !value               ? std::string("N/A")
           : value->is_string() ? std::string(value->text())
                                : json::to_text(*value);
  };
  text(cells, name_of(object));
  text(cells, amount("minAvailable"));
  text(cells, amount("maxUnavailable"));
  number(cells, int_at(object, "status", "disruptionsAllowed").value_or(0));
  age(cells, object, now);
}

void priority_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  number(cells, int_at(object, "value").value_or(0));
  cells.push_back(true_at(object, "globalDefault") ? "true" : "false");
  age(cells, object, now);
  text(cells, text_at(object, "preemptionPolicy"));
}

struct Head {
  std::string_view name, type = "string";
  int priority = 0;
};
struct Row {
  std::string_view group, resource;
  CellsFn cells;
  std::vector<Head> heads;
};

const std::vector<Row>& rows() {
  static const std::vector<Head> kWorkloadTail = {
      {"Containers", "string", 1}, {"Images", "string", 1}, {"Selector", "string", 1}};
  static const std::vector<Row> kRows = {
      {"",
       "pods",
       pod_cells,
       {{"Name"},
        {"Ready"},
        {"Status"},
        {"Restarts"},
        {"Age"},
        {"IP", "string", 1},
        {"Node", "string", 1},
        {"Nominated Node", "string", 1},
        {"Readiness Gates", "string", 1}}},
      {"",
       "nodes",
       node_cells,
       {{"Name"},
        {"Status"},
        {"Roles"},
        {"Age"},
        {"Version"},
        {"Internal-IP", "string", 1},
        {"External-IP", "string", 1},
        {"OS-Image", "string", 1},
        {"Kernel-Version", "string", 1},
        {"Container-Runtime", "string", 1}}},
      {"", "namespaces", namespace_cells, {{"Name"}, {"Status"}, {"Age"}}},
      {"", "configmaps", config_map_cells, {{"Name"}, {"Data", "integer"}, {"Age"}}},
      {"", "secrets", secret_cells, {{"Name"}, {"Type"}, {"Data", "integer"}, {"Age"}}},
      {"",
       "services",
       service_cells,
       {{"Name"},
        {"Type"},
        {"Cluster-IP"},
        {"External-IP"},
        {"Port(s)"},
        {"Age"},
        {"Selector", "string", 1}}},
      {"",
       "events",
       event_cells,
       {{"Last Seen"},
        {"Type"},
        {"Reason"},
        {"Object"},
        {"Subobject", "string", 1},
        {"Source", "string", 1},
        {"Message"},
        {"First Seen", "string", 1},
        {"Count", "integer", 1},
        {"Name", "string", 1}}},
      {"apps",
       "deployments",
       deployment_cells,
       {{"Name"},
        {"Ready"},
        {"Up-to-date", "integer"},
        {"Available", "integer"},
        {"Age"},
        kWorkloadTail[0],
        kWorkloadTail[1],
        kWorkloadTail[2]}},
      {"apps",
       "replicasets",
       replica_set_cells,
       {{"Name"},
        {"Desired", "integer"},
        {"Current", "integer"},
        {"Ready", "integer"},
        {"Age"},
        kWorkloadTail[0],
        kWorkloadTail[1],
        kWorkloadTail[2]}},
      {"apps",
       "statefulsets",
       stateful_set_cells,
       {{"Name"}, {"Ready"}, {"Age"}, kWorkloadTail[0], kWorkloadTail[1]}},
      {"apps", "controllerrevisions", revision_cells, {{"Name"}, {"Controller"}, {"Revision"}, {"Age"}}},
      {"batch",
       "jobs",
       job_cells,
       {{"Name"},
        {"Status"},
        {"Completions"},
        {"Duration"},
        {"Age"},
        kWorkloadTail[0],
        kWorkloadTail[1],
        kWorkloadTail[2]}},
      {"coordination.k8s.io", "leases", lease_cells, {{"Name"}, {"Holder"}, {"Age"}}},
      {"apiextensions.k8s.io", "customresourcedefinitions", crd_cells, {{"Name"}, {"Created At", "date"}}},
      {"policy",
       "poddisruptionbudgets",
       budget_cells,
       {{"Name"}, {"Min Available"}, {"Max Unavailable"}, {"Allowed Disruptions", "integer"}, {"Age"}}},
      {"scheduling.k8s.io",
       "priorityclasses",
       priority_cells,
       {{"Name"}, {"Value", "integer"}, {"Global-Default", "boolean"}, {"Age"}, {"PreemptionPolicy"}}},
      {"",
       "persistentvolumes",
       volume_cells,
       {{"Name"},
        {"Capacity"},
        {"Access Modes"},
        {"Reclaim Policy"},
        {"Status"},
        {"Claim"},
        {"StorageClass"},
        {"VolumeAttributesClass"},
        {"Reason"},
        {"Age"},
        {"VolumeMode", "string", 1}}},
      {"",
       "persistentvolumeclaims",
       claim_cells,
       {{"Name"},
        {"Status"},
        {"Volume"},
        {"Capacity"},
        {"Access Modes"},
        {"StorageClass"},
        {"VolumeAttributesClass"},
        {"Age"},
        {"VolumeMode", "string", 1}}},
      {"storage.k8s.io",
       "storageclasses",
       storage_class_cells,
       {{"Name"},
        {"Provisioner"},
        {"ReclaimPolicy"},
        {"VolumeBindingMode"},
        {"AllowVolumeExpansion"},
        {"Age"}}},
      {"storage.k8s.io", "csinodes", csi_node_cells, {{"Name"}, {"Drivers", "integer"}, {"Age"}}},
      {"storage.k8s.io",
       "csidrivers",
       csi_driver_cells,
       {{"Name"},
        {"AttachRequired", "boolean"},
        {"PodInfoOnMount", "boolean"},
        {"StorageCapacity", "boolean"},
        {"TokenRequests"},
        {"RequiresRepublish", "boolean"},
        {"Modes"},
        {"Age"}}},
      {"storage.k8s.io",
       "csistoragecapacities",
       csi_capacity_cells,
       {{"Name"}, {"StorageClassName"}, {"Capacity"}}},
      {"storage.k8s.io",
       "volumeattachments",
       attachment_cells,
       {{"Name"}, {"Attacher"}, {"PV"}, {"Node"}, {"Attached", "boolean"}, {"Age"}}},
  };
  return kRows;
}

}  // namespace

void add_builtin_columns(Kind& kind) {
  for (const Row& row : rows()) {
    // Both groups of Event print alike: the cells are made of the stored form.
    bool events = kind.resource == "events" && row.resource == "events";
    if (kind.resource != row.resource || (kind.group != row.group && !events)) continue;
    kind.cells = row.cells;
    for (const Head& head : row.heads)
      kind.columns.push_back({std::string(head.name), std::string(head.type),
                              head.name == "Name" ? "name" : "", "", head.priority});
  }
}

}  // namespace koord::sandbox
