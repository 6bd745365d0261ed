// The inventory, and the hub that hands it out.
#include "framework/model/inventory.hpp"

#include <algorithm>
#include <utility>

namespace koord::koordlet {

PriorityClass PodInfo::effective_class() const {
  return api::with_default(priority_class, api::with_default(qos, kube_qos));
}

std::int32_t PodInfo::effective_priority() const {
  if (priority && *priority != 0) return *priority;
  switch (effective_class()) {  // upstream's defaults
    case PriorityClass::prod: return 9500;
    case PriorityClass::mid: return 7500;
    case PriorityClass::batch: return 5500;
    case PriorityClass::free: return 3500;
    case PriorityClass::none: break;
  }
  return 0;
}

bool Inventory::in_best_effort(std::string_view group) const {
  return std::any_of(be_roots.begin(), be_roots.end(),
                     [&](const std::string& root) { return host::is_within(group, root); });
}

InventoryHub::InventoryHub() : current_(std::make_shared<const Inventory>()) {}

void InventoryHub::publish(Inventory next) {
  next.generation = current_->generation + 1;
  current_ = std::make_shared<const Inventory>(std::move(next));
  for (const Listener& listener : listeners_) listener(current_);
}

void InventoryHub::listen(Listener listener) { listeners_.push_back(std::move(listener)); }

}  // namespace koord::koordlet
