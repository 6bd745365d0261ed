// Reading annotations: see annotations.hpp.
#include "framework/objects/annotations.hpp"

#include <fmt/format.h>

#include <utility>

namespace koord::koordlet {

std::int64_t milli(const api::ResourceList& list, std::string_view name) {
  const api::Quantity* const found = list.find(name);
  return found != nullptr ? bounded(found->milli_value(), kMaxMilli) : 0;
}
std::int64_t plain(const api::ResourceList& list, std::string_view name, std::int64_t max) {
  const api::Quantity* const found = list.find(name);
  return found != nullptr ? bounded(found->value(), max) : 0;
}

host::CpuSet cpu_list(std::string_view text, std::string_view name, std::vector<std::string>& warnings) {
  auto cpus = host::CpuSet::parse(text);
  if (cpus) return std::move(*cpus);
  warnings.push_back(fmt::format("{}: {}", name, cpus.error().message()));
  return {};
}

bool is_amount(const api::Quantity& amount, std::string_view name, std::string_view path,
               std::vector<std::string>& warnings) {
  if (amount.sign() >= 0) return true;
  warnings.push_back(fmt::format("{}: {}: {} is below zero", name, path, amount.to_string()));
  return false;
}

}  // namespace koord::koordlet
