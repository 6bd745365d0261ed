// Names of classes, and the hub that hands the inventory out.
#include "framework/inventory.hpp"

#include <array>
#include <utility>

namespace koord::koordlet {
namespace {

constexpr std::array<std::pair<Qos, std::string_view>, 5> kQosNames{{
    {Qos::lse, "LSE"},
    {Qos::lsr, "LSR"},
    {Qos::ls, "LS"},
    {Qos::be, "BE"},
    {Qos::system, "SYSTEM"},
}};

struct Band {
  PriorityClass priority;
  std::string_view name;
  std::int32_t first, last;
};
constexpr std::array<Band, 4> kBands{{
    {PriorityClass::prod, "koord-prod", 9000, 9999},
    {PriorityClass::mid, "koord-mid", 7000, 7999},
    {PriorityClass::batch, "koord-batch", 5000, 5999},
    {PriorityClass::free, "koord-free", 3000, 3999},
}};

}  // namespace

std::string_view name(Qos qos) {
  for (const auto& [value, text] : kQosNames)
    if (value == qos) return text;
  return {};
}

Qos parse_qos(std::string_view text) {
  for (const auto& [value, known] : kQosNames)
    if (known == text) return value;
  return Qos::none;
}

Qos qos_with_default(Qos qos, host::KubeQos kube_qos) {
  if (qos != Qos::none) return qos;
  switch (kube_qos) {
    case host::KubeQos::guaranteed: return Qos::lsr;
    case host::KubeQos::burstable: return Qos::ls;
    case host::KubeQos::besteffort: return Qos::be;
  }
  return Qos::none;
}

std::string_view name(PriorityClass priority) {
  for (const Band& band : kBands)
    if (band.priority == priority) return band.name;
  return {};
}

PriorityClass parse_priority_class(std::string_view text) {
  for (const Band& band : kBands)
    if (band.name == text) return band.priority;
  return PriorityClass::none;
}

PriorityClass priority_class_of(std::optional<std::int32_t> priority) {
  if (!priority) return PriorityClass::none;
  for (const Band& band : kBands)
    if (*priority >= band.first && *priority <= band.last) return band.priority;
  return PriorityClass::none;
}

InventoryHub::InventoryHub() : current_(std::make_shared<const Inventory>()) {}

void InventoryHub::publish(Inventory next) {
  next.generation = current_->generation + 1;
  current_ = std::make_shared<const Inventory>(std::move(next));
  for (const Listener& listener : listeners_) listener(current_);
}

void InventoryHub::listen(Listener listener) { listeners_.push_back(std::move(listener)); }

}  // namespace koord::koordlet
