// See koord/api/koordinator/descheduling.hpp.
#include "koord/api/koordinator/descheduling.hpp"

#include <charconv>

namespace koord::api {

namespace {

std::int32_t cost_of(const SymbolMap& annotations, std::string_view key) {
  const auto* const said = annotations.find(key);
  if (said == nullptr || said->empty()) return 0;
  const std::string_view text = said->view();
  const bool plain = text[0] == '-' || (text[0] >= '1' && text[0] <= '9') || text == "0";
  std::int32_t cost = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return plain && error == std::errc() && end == text.data() + text.size() ? cost : 0;
}

}  // namespace

std::int32_t eviction_cost(const SymbolMap& annotations) {
  return cost_of(annotations, kEvictionCostAnnotation);
}

std::int32_t deletion_cost(const SymbolMap& annotations) {
  return cost_of(annotations, kDeletionCostAnnotation);
}

}  // namespace koord::api
