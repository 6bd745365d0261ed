// The hub that hands the inventory out.
#include "framework/inventory.hpp"

#include <utility>

namespace koord::koordlet {

InventoryHub::InventoryHub() : current_(std::make_shared<const Inventory>()) {}

void InventoryHub::publish(Inventory next) {
  next.generation = current_->generation + 1;
  current_ = std::make_shared<const Inventory>(std::move(next));
  for (const Listener& listener : listeners_) listener(current_);
}

void InventoryHub::listen(Listener listener) { listeners_.push_back(std::move(listener)); }

}  // namespace koord::koordlet
