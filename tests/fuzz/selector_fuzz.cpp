// Label and field selectors: what parses prints, and the printed form parses to one that prints and matches
// alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/api/rules/selector.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using koord::api::FieldSelector;
  using koord::api::Selector;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const koord::api::SymbolMap kLabels[] = {{}, {{"a", "b"}}, {{"a", "1"}, {"b", ""}, {"in", "x"}}};
  if (const auto first = Selector::parse(text)) {
    const auto second = Selector::parse(first->to_string());
    if (!second || second->to_string() != first->to_string()) std::abort();
    for (const auto& labels : kLabels)
      if (first->matches(labels) != second->matches(labels)) std::abort();
  }
  if (const auto first = FieldSelector::parse(text)) {
    const auto second = FieldSelector::parse(first->to_string());
    if (!second || second->terms().size() != first->terms().size()) std::abort();
    const auto third = FieldSelector::parse(second->to_string());
    if (!third || third->to_string() != second->to_string()) std::abort();
  }
  return 0;
}
