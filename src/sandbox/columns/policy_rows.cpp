// Cells and columns of what rules over others: leases, definitions, budgets, priority classes.
#include "koord/json/writer.hpp"
#include "sandbox/columns/cells.hpp"
#include "sandbox/columns/rows.hpp"

namespace koord::sandbox {
namespace {

void lease_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "spec", "holderIdentity"));
  age(cells, object, now);
}

void crd_cells(const json::Value& object, WallTime, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "metadata", "creationTimestamp"));
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

constexpr Head kLeases[] = {{"Name"}, {"Holder"}, {"Age"}};
constexpr Head kDefinitions[] = {{"Name"}, {"Created At", "date"}};
constexpr Head kBudgets[] = {
    {"Name"}, {"Min Available"}, {"Max Unavailable"}, {"Allowed Disruptions", "integer"}, {"Age"}};
constexpr Head kPriorityClasses[] = {
    {"Name"}, {"Value", "integer"}, {"Global-Default", "boolean"}, {"Age"}, {"PreemptionPolicy"}};

constexpr KindColumns kRows[] = {
    {"coordination.k8s.io", "leases", lease_cells, kLeases},
    {"apiextensions.k8s.io", "customresourcedefinitions", crd_cells, kDefinitions},
    {"policy", "poddisruptionbudgets", budget_cells, kBudgets},
    {"scheduling.k8s.io", "priorityclasses", priority_cells, kPriorityClasses},
};

}  // namespace

std::span<const KindColumns> policy_columns() { return kRows; }

}  // namespace koord::sandbox
