// The status word, ready count and restarts of a pod, from its containers' states.
#include "sandbox/columns/pod_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "koord/json/writer.hpp"
#include "sandbox/columns/columns.hpp"

namespace koord::sandbox {
namespace {

struct Row {
  std::string status;
  std::int64_t ready = 0, total = 0, restarts = 0;
  std::string_view last_restart;
};

// Names of those elements of a list whose `field` is `value`.
std::set<std::string_view> names_where(const json::Value* list, const char* name, const char* field,
                                       std::string_view value) {
  std::set<std::string_view> names;
  if (list)
    for (const json::Value& each : list->elements())
      if (text_at(each, field) == value) names.insert(text_at(each, name));
  return names;
}

std::string ended(const json::Value& terminated) {
  std::string_view reason = text_at(terminated, "reason");
  if (!reason.empty()) return std::string(reason);
  if (auto signal = int_at(terminated, "signal"); signal && *signal != 0)
    return fmt::format("Signal:{}", *signal);
  return fmt::format("ExitCode:{}", int_at(terminated, "exitCode").value_or(0));
}

void count_restarts(const json::Value& status, Row& row) {
  row.restarts += int_at(status, "restartCount").value_or(0);
  std::string_view when = text_at(status, "lastState", "terminated", "finishedAt");
  if (when > row.last_restart) row.last_restart = when;
}

// True if the pod is still in its init containers.
bool initializing(const json::Value& pod, Row& row) {
  const json::Value* list = find(pod, "status", "initContainerStatuses");
  const json::Value* specs = find(pod, "spec", "initContainers");
  if (!list || !list->is_array()) return false;
  const auto sidecars = names_where(specs, "name", "restartPolicy", "Always");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::Value& status = (*list)[i];
    count_restarts(status, row);
    bool side = sidecars.contains(text_at(status, "name"));
    const json::Value* terminated = find(status, "state", "terminated");
    if (terminated && int_at(*terminated, "exitCode").value_or(0) == 0) continue;
    if (side && true_at(status, "started")) {
      row.ready += true_at(status, "ready");
      continue;
    }
    std::string_view waiting = text_at(status, "state", "waiting", "reason");
    if (terminated)
      row.status = fmt::format("Init:{}", ended(*terminated));
    else if (!waiting.empty() && waiting != "PodInitializing")
      row.status = fmt::format("Init:{}", waiting);
    else
      row.status = fmt::format("Init:{}/{}", i, specs && specs->is_array() ? specs->size() : 0);
    return true;
  }
  return false;
}

void running(const json::Value& pod, Row& row) {
  const json::Value* list = find(pod, "status", "containerStatuses");
  if (!list || !list->is_array()) return;
  bool any_running = false;
  row.restarts = 0;
  for (std::size_t i = list->size(); i-- > 0;) {
    const json::Value& status = (*list)[i];
    count_restarts(status, row);
    std::string_view waiting = text_at(status, "state", "waiting", "reason");
    const json::Value* terminated = find(status, "state", "terminated");
    if (!waiting.empty()) {
      row.status = waiting;
    } else if (terminated) {
      row.status = ended(*terminated);
    } else if (true_at(status, "ready") && find(status, "state", "running")) {
      any_running = true;
      ++row.ready;
    }
  }
  if (row.status != "Completed" || !any_running) return;
  row.status = "NotReady";
  if (const json::Value* conditions = find(pod, "status", "conditions"); conditions && conditions->is_array())
    for (const auto& condition : conditions->elements())
      if (text_at(condition, "type") == "Ready" && text_at(condition, "status") == "True")
        row.status = "Running";
}

Row row_of(const json::Value& pod) {
  Row row;
  if (const json::Value* list = find(pod, "spec", "containers"); list && list->is_array())
    row.total = list->size();
  if (const json::Value* list = find(pod, "spec", "initContainers"); list && list->is_array())
    for (const auto& container : list->elements())
      row.total += text_at(container, "restartPolicy") == "Always";
  row.status = text_at(pod, "status", "phase");
  std::string_view reason = text_at(pod, "status", "reason");
  if (!reason.empty()) row.status = reason;
  if (const json::Value* conditions = find(pod, "status", "conditions"); conditions && conditions->is_array())
    for (const auto& condition : conditions->elements())
      if (text_at(condition, "type") == "PodScheduled" && text_at(condition, "reason") == "SchedulingGated")
        row.status = "SchedulingGated";
  if (!initializing(pod, row)) running(pod, row);
  if (!text_at(pod, "metadata", "deletionTimestamp").empty()) {
    if (reason == "NodeLost")
      row.status = "Unknown";
    else if (text_at(pod, "status", "phase") != "Succeeded" && text_at(pod, "status", "phase") != "Failed")
      row.status = "Terminating";
  }
  return row;
}

}  // namespace

void pod_cells(const json::Value& pod, WallTime now, std::vector<std::string>& cells) {
  Row row = row_of(pod);
  auto text = [&](std::string_view value) { cells.push_back(json::quote(value)); };
  auto or_none = [](std::string_view value) { return value.empty() ? std::string_view("<none>") : value; };
  text(text_at(pod, "metadata", "name"));
  text(fmt::format("{}/{}", row.ready, row.total));
  text(row.status);
  text(row.restarts > 0 && !row.last_restart.empty()
           ? fmt::format("{} ({} ago)", row.restarts, age_of(row.last_restart, now))
           : fmt::to_string(row.restarts));
  text(age_of(text_at(pod, "metadata", "creationTimestamp"), now));
  text(or_none(text_at(pod, "status", "podIP")));
  text(or_none(text_at(pod, "spec", "nodeName")));
  text(or_none(text_at(pod, "status", "nominatedNodeName")));
  const json::Value* gates = find(pod, "spec", "readinessGates");
  if (!gates || !gates->is_array() || gates->empty()) return text("<none>");
  const auto conditions = names_where(find(pod, "status", "conditions"), "type", "status", "True");
  const auto list = gates->elements();
  const auto met = std::count_if(list.begin(), list.end(), [&](const json::Value& gate) {
    return conditions.contains(text_at(gate, "conditionType"));
  });
  text(fmt::format("{}/{}", met, gates->size()));
}

}  // namespace koord::sandbox
