// The inventory, and the hub that hands it out.
#include "framework/inventory.hpp"

#include <algorithm>
#include <utility>

namespace koord::koordlet {

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
