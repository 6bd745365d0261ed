// What is written of a node: see node_update.hpp.
#include "noderesource/node_update.hpp"

#include <cmath>

#include "koord/api/rules/koord_classes.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

constexpr std::string_view kOrigin = "node.koordinator.sh/originExtendedAllocatable",
                           kThirdParty = "node.koordinator.sh/thirdPartyAllocations";

void set(api::Node& node, std::string_view name, const std::optional<Quantity>& amount) {
  for (api::ResourceList* list : {&node.status.capacity, &node.status.allocatable}) {
    if (amount)
      (*list)[name] = *amount;
    else
      list->erase(name);
  }
}

/// What others have taken of the batch resource; nothing if the annotation cannot be read.
std::optional<Quantity> taken(const json::Value& allocations, std::string_view resource) {
  Quantity sum;
  const json::Value* const list = json::find(allocations, "allocations");
  if (list == nullptr) return sum;
  for (const json::Value& one : list->elements()) {
    if (json::text_at(one, "priority") != to_string(api::KoordPriority::batch)) continue;
    const json::Value* const amount = json::find(one, "resources", resource);
    if (amount == nullptr) continue;
    auto quantity =
        Quantity::parse(amount->is_string() ? std::string(amount->text()) : json::to_text(*amount));
    if (!quantity) return std::nullopt;
    if (quantity->sign() > 0) sum += *quantity;
  }
  return sum;
}

/// Other resources in the annotation stay: somebody else's.
void note_origin(api::Node& node, const Loan& lent) {
  json::Document origin;
  const std::string_view before = api::value_or(node.metadata.annotations, kOrigin);
  if (before.empty() || !origin.read(before) || !origin.is_object()) origin.set_object();
  json::Value& resources = json::object_at(origin, "resources", origin.arena());
  json::set_text(resources, api::kBatchCpu, lent.cpu.to_string(), origin.arena());
  json::set_text(resources, api::kBatchMemory, lent.memory.to_string(), origin.arena());
  node.metadata.annotations[kOrigin] = Symbol(json::to_text(origin));
}

void subtract_third_party(api::Node& node, const Loan& lent) {
  const std::string_view text = api::value_or(node.metadata.annotations, kThirdParty);
  if (text.empty()) return;
  const auto allocations = json::parse(text);
  if (!allocations) return;
  const auto cpu = taken(*allocations, api::kBatchCpu), memory = taken(*allocations, api::kBatchMemory);
  if (!cpu || !memory) return;
  const auto rest = [](const Quantity& all, const Quantity& gone) {
    return std::max(all - gone, Quantity());
  };
  set(node, api::kBatchCpu, Quantity::from_int(rest(lent.cpu, *cpu).value(), lent.cpu.format()));
  set(node, api::kBatchMemory, Quantity::from_int(rest(lent.memory, *memory).value(), lent.memory.format()));
}

}  // namespace

api::Node with_loans(const api::Node& node, std::span<const LoanOf> loans) {
  api::Node after = node;
  for (const LoanOf& one : loans) {
    set(after, one.cpu, one.loan ? std::optional(one.loan->cpu) : std::nullopt);
    set(after, one.memory, one.loan ? std::optional(one.loan->memory) : std::nullopt);
    if (one.cpu != api::kBatchCpu) continue;
    if (one.loan || node.metadata.annotations.contains(kOrigin))
      note_origin(after, one.loan.value_or(Loan()));
    if (one.loan) subtract_third_party(after, *one.loan);
  }
  return after;
}

bool same_loans(const api::Node& before, const api::Node& after) {
  return before.status.allocatable == after.status.allocatable &&
         before.status.capacity == after.status.capacity &&
         before.metadata.annotations == after.metadata.annotations;
}

bool worth_writing(const api::Node& before, const api::Node& after, std::span<const LoanOf> loans,
                   double share) {
  for (const LoanOf& one : loans)
    for (const std::string_view name : {one.cpu, one.memory}) {
      const Quantity* const was = before.status.allocatable.find(name);
      const Quantity* const is = after.status.allocatable.find(name);
      if ((was == nullptr) != (is == nullptr)) return true;
      if (was == nullptr) continue;
      const auto milli = [](const Quantity& q) { return static_cast<double>(q.milli_value()); };
      if (std::abs(milli(*is) - milli(*was)) > milli(*was) * share) return true;
    }
  return false;
}

}  // namespace koord::manager
