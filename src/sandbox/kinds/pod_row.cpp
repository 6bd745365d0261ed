// The status word, ready count and restarts of a pod, from its containers' states.
#include "sandbox/kinds/pod_row.hpp"

#include <fmt/format.h>

#include "sandbox/kinds/columns.hpp"

namespace koord::sandbox {
namespace {

struct Row {
  std::string status;
  std::int64_t ready = 0, total = 0, restarts = 0;
  std::string_view last_restart;
};

bool sidecar(const Json& pod, std::string_view name) {
  if (const Json* list = find(pod, "spec", "initContainers"); list && list->IsArray())
    for (const auto& container : list->GetArray())
      if (text_at(container, "name") == name) return text_at(container, "restartPolicy") == "Always";
  return false;
}

std::string ended(const Json& terminated) {
  std::string_view reason = text_at(terminated, "reason");
  if (!reason.empty()) return std::string(reason);
  if (auto signal = int_at(terminated, "signal"); signal && *signal != 0)
    return fmt::format("Signal:{}", *signal);
  return fmt::format("ExitCode:{}", int_at(terminated, "exitCode").value_or(0));
}

void count_restarts(const Json& status, Row& row) {
  row.restarts += int_at(status, "restartCount").value_or(0);
  std::string_view when = text_at(status, "lastState", "terminated", "finishedAt");
  if (when > row.last_restart) row.last_restart = when;
}

// True if the pod is still in its init containers.
bool initializing(const Json& pod, Row& row) {
  const Json* list = find(pod, "status", "initContainerStatuses");
  const Json* specs = find(pod, "spec", "initContainers");
  if (!list || !list->IsArray()) return false;
  for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
    const Json& status = (*list)[i];
    count_restarts(status, row);
    bool side = sidecar(pod, text_at(status, "name"));
    const Json* terminated = find(status, "state", "terminated");
    if (terminated && int_at(*terminated, "exitCode").value_or(0) == 0) continue;
    if (side && true_at(status, "started")) {
      row.ready += true_at(status, "ready");
      continue;
    }
    std::string_view waiting = text_at(status, "state", "waiting", "reason");
    if (terminated)
      row.status = "Init:" + ended(*terminated);
    else if (!waiting.empty() && waiting != "PodInitializing")
      row.status = fmt::format("Init:{}", waiting);
    else
      row.status = fmt::format("Init:{}/{}", i, specs && specs->IsArray() ? specs->Size() : 0);
    return true;
  }
  return false;
}

void running(const Json& pod, Row& row) {
  const Json* list = find(pod, "status", "containerStatuses");
  if (!list || !list->IsArray()) return;
  bool any_running = false;
  row.restarts = 0;
  for (rapidjson::SizeType i = list->Size(); i-- > 0;) {
    const Json& status = (*list)[i];
    count_restarts(status, row);
    std::string_view waiting = text_at(status, "state", "waiting", "reason");
    const Json* terminated = find(status, "state", "terminated");
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
  if (const Json* conditions = find(pod, "status", "conditions"); conditions && conditions->IsArray())
    for (const auto& condition : conditions->GetArray())
      if (text_at(condition, "type") == "Ready" && text_at(condition, "status") == "True")
        row.status = "Running";
}

Row row_of(const Json& pod) {
  Row row;
  if (const Json* list = find(pod, "spec", "containers"); list && list->IsArray()) row.total = list->Size();
  if (const Json* list = find(pod, "spec", "initContainers"); list && list->IsArray())
    for (const auto& container : list->GetArray())
      row.total += text_at(container, "restartPolicy") == "Always";
  row.status = text_at(pod, "status", "phase");
  std::string_view reason = text_at(pod, "status", "reason");
  if (!reason.empty()) row.status = reason;
  if (const Json* conditions = find(pod, "status", "conditions"); conditions && conditions->IsArray())
    for (const auto& condition : conditions->GetArray())
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

void pod_cells(const Json& pod, WallTime now, std::vector<std::string>& cells) {
  Row row = row_of(pod);
  auto text = [&](std::string_view value) { cells.push_back(quote_json(value)); };
  auto or_none = [](std::string_view value) { return value.empty() ? std::string_view("<none>") : value; };
  text(text_at(pod, "metadata", "name"));
  text(fmt::format("{}/{}", row.ready, row.total));
  text(row.status);
  text(row.restarts > 0 && !row.last_restart.empty()
           ? fmt::format("{} ({} ago)", row.restarts, age_of(row.last_restart, now))
           : std::to_string(row.restarts));
  text(age_of(text_at(pod, "metadata", "creationTimestamp"), now));
  text(or_none(text_at(pod, "status", "podIP")));
  text(or_none(text_at(pod, "spec", "nodeName")));
  text(or_none(text_at(pod, "status", "nominatedNodeName")));
  const Json* gates = find(pod, "spec", "readinessGates");
  if (!gates || !gates->IsArray() || gates->Empty()) return text("<none>");
  std::int64_t met = 0;
  for (const auto& gate : gates->GetArray())
    if (const Json* conditions = find(pod, "status", "conditions"); conditions && conditions->IsArray())
      for (const auto& condition : conditions->GetArray())
        met += text_at(condition, "type") == text_at(gate, "conditionType") &&
               text_at(condition, "status") == "True";
  text(fmt::format("{}/{}", met, gates->Size()));
}

}  // namespace koord::sandbox
