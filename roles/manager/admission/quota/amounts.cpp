// Lists of resources: see amounts.hpp.
#include "admission/quota/amounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace koord::manager {

void add(api::ResourceList& to, const api::ResourceList& more) {
  for (const auto& [name, amount] : more)
    if (api::Quantity* const there = to.find(name))
      *there += amount;
    else
      to[name] = amount;
}

void take(api::ResourceList& from, const api::ResourceList& less) {
  for (const auto& [name, amount] : less) {
    api::Quantity& left = from[name];
    left -= amount;
    if (left.is_zero()) from.erase(name);
  }
}

void raise(api::ResourceList& to, const api::ResourceList& other) {
  for (const auto& [name, amount] : other) {
    const api::Quantity* const there = to.find(name);
    if (there == nullptr || *there < amount) to[name] = amount;
  }
}

bool is_within(const api::ResourceList& amounts, const api::ResourceList& limit) {
  const auto fits = [&](const auto& entry) {
    const api::Quantity* const most = limit.find(entry.key);
    return entry.value <= (most != nullptr ? *most : api::Quantity());
  };
  // What is limited to less than nothing is more than that where it is not named.
  const auto holds = [&](const auto& entry) {
    return entry.value.sign() >= 0 || amounts.contains(entry.key);
  };
  return std::ranges::all_of(amounts, fits) && std::ranges::all_of(limit, holds);
}

bool names_all(const api::ResourceList& whole, const api::ResourceList& part) {
  return std::ranges::all_of(part, [&](const auto& entry) { return whole.contains(entry.key); });
}

std::string negative_names(const api::ResourceList& amounts) {
  std::string names;
  for (const auto& [name, amount] : amounts)
    if (amount.sign() < 0)
      fmt::format_to(std::back_inserter(names), "{}{}", names.empty() ? "" : " ", name.view());
  return names.empty() ? names : fmt::format("[{}]", names);
}

std::string to_text(const api::ResourceList& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts)
    fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : ",", name.view(),
                   amount.to_string());
  return text;
}

}  // namespace koord::manager
