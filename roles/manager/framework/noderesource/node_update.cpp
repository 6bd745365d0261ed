// What is written of a node: see node_update.hpp.
#include "framework/noderesource/node_update.hpp"

#include <cmath>

#include "framework/noderesource/cpu_memory.hpp"
#include "framework/noderesource/json_quantity.hpp"
#include "koord/api/rules/koord_classes.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

constexpr std::string_view kThirdParty = "node.koordinator.sh/thirdPartyAllocations";

void set(api::Node& node, std::string_view name, const std::optional<Quantity>& amount) {
  std::optional<Quantity> whole = amount;
  if (whole) whole->round_up(0);  // an API server takes nothing else
  for (api::ResourceList* list : {&node.status.capacity, &node.status.allocatable}) {
    if (whole)
      (*list)[name] = *whole;
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
    const auto quantity = quantity_of(*amount);
    if (!quantity) return std::nullopt;
    if (quantity->sign() > 0) sum += *quantity;
  }
  return sum;
}

/// Other resources in the annotation stay: somebody else's.
void note_origin(api::Node& node, const OvercommitAmount& lent) {
  json::Document origin;
  const std::string_view before = api::value_or(node.metadata.annotations, kOriginExtended);
  if (before.empty() || !origin.read(before) || !origin.is_object()) origin.set_object();
  json::Value& resources = json::object_at(origin, "resources", origin.arena());
  json::set_text(resources, api::kBatchCpu, lent.cpu.to_string(), origin.arena());
  json::set_text(resources, api::kBatchMemory, lent.memory.to_string(), origin.arena());
  node.metadata.annotations[kOriginExtended] = Symbol(json::to_text(origin));
}

void subtract_third_party(api::Node& node, const OvercommitAmount& lent) {
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

void set_overcommit(api::Node& node, std::span<const OvercommitResource> overcommit, double ratio) {
  for (const OvercommitResource& one : overcommit) {
    std::optional<OvercommitAmount> amount = one.amount;
    if (amount && ratio > 1 && one.cpu == api::kBatchCpu)
      amount->cpu = Quantity::from_int(scaled_cpu(amount->cpu, ratio).value());
    set(node, one.cpu, amount ? std::optional(amount->cpu) : std::nullopt);
    set(node, one.memory, amount ? std::optional(amount->memory) : std::nullopt);
    if (one.cpu != api::kBatchCpu) continue;
    if (amount || node.metadata.annotations.contains(kOriginExtended))
      note_origin(node, amount.value_or(OvercommitAmount()));
    if (amount) subtract_third_party(node, *amount);
  }
}

bool is_worth(const Quantity& was, const Quantity& is, double share) {
  const auto milli = [](const Quantity& q) { return static_cast<double>(q.milli_value()); };
  return std::abs(milli(is) - milli(was)) > milli(was) * share;
}

bool is_worth(const api::ResourceList& before, const api::ResourceList& after, std::string_view name,
              double share) {
  const Quantity *const was = before.find(name), *const is = after.find(name);
  if (was == nullptr || is == nullptr) return was != is;
  return is_worth(*was, *is, share);
}

}  // namespace koord::manager
