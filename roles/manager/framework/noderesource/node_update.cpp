// What is written of a node: see node_update.hpp.
#include "framework/noderesource/node_update.hpp"

#include <algorithm>
#include <cmath>

namespace koord::manager {

using api::Quantity;

void set_amount(api::Node& node, std::string_view name, const std::optional<Quantity>& amount) {
  std::optional<Quantity> whole = amount;
  if (whole) whole->round_up(0);
  for (api::ResourceList* list : {&node.status.capacity, &node.status.allocatable}) {
    if (whole)
      (*list)[name] = *whole;
    else
      list->erase(name);
  }
}

void set_annotation(api::Node& node, std::string_view name, std::string_view value) {
  if (value.empty())
    node.metadata.annotations.erase(name);
  else
    node.metadata.annotations[name] = Symbol(value);
}

Quantity from_zero(std::int64_t value, Quantity::Format format) {
  return Quantity::from_int(std::max<std::int64_t>(value, 0), format);
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
