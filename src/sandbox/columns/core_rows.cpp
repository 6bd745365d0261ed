// Cells and columns of the core group, without storage.
#include <fmt/format.h>

#include "koord/json/writer.hpp"
#include "sandbox/columns/cells.hpp"
#include "sandbox/columns/pod_row.hpp"
#include "sandbox/columns/rows.hpp"

namespace koord::sandbox {
namespace {

std::size_t size_of(const json::Value* value) {
  return !value ? 0 : value->is_object() ? value->size() : value->is_array() ? value->size() : 0;
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

constexpr Head kPods[] = {{"Name"},
                          {"Ready"},
                          {"Status"},
                          {"Restarts"},
                          {"Age"},
                          wide("IP"),
                          wide("Node"),
                          wide("Nominated Node"),
                          wide("Readiness Gates")};
constexpr Head kNodes[] = {{"Name"},
                           {"Status"},
                           {"Roles"},
                           {"Age"},
                           {"Version"},
                           wide("Internal-IP"),
                           wide("External-IP"),
                           wide("OS-Image"),
                           wide("Kernel-Version"),
                           wide("Container-Runtime")};
constexpr Head kNamespaces[] = {{"Name"}, {"Status"}, {"Age"}};
constexpr Head kConfigMaps[] = {{"Name"}, {"Data", "integer"}, {"Age"}};
constexpr Head kSecrets[] = {{"Name"}, {"Type"}, {"Data", "integer"}, {"Age"}};
constexpr Head kServices[] = {{"Name"},    {"Type"}, {"Cluster-IP"},  {"External-IP"},
                              {"Port(s)"}, {"Age"},  wide("Selector")};
constexpr Head kEvents[] = {{"Last Seen"}, {"Type"},           {"Reason"},
                            {"Object"},    wide("Subobject"),  wide("Source"),
                            {"Message"},   wide("First Seen"), wide("Count", "integer"),
                            wide("Name")};

constexpr KindColumns kRows[] = {
    {"", "pods", pod_cells, kPods},
    {"", "nodes", node_cells, kNodes},
    {"", "namespaces", namespace_cells, kNamespaces},
    {"", "configmaps", config_map_cells, kConfigMaps},
    {"", "secrets", secret_cells, kSecrets},
    {"", "services", service_cells, kServices},
    {"", "events", event_cells, kEvents},
};

}  // namespace

std::span<const KindColumns> core_columns() { return kRows; }

}  // namespace koord::sandbox
