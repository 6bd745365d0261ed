// What a call costs as it runs: cel-go's runtime costs with Kubernetes' for its libraries.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "koord/cel/value.hpp"

namespace koord::cel {

enum class CostRule : std::uint8_t {
  one,
  traverses_elements,  // of the first argument, to its texts
  tenth_of_first,      // a tenth of the first argument's size
  fifth_of_first,
  fifth_of_result,
  pattern,            // text times pattern
  product_of_tenths,  // contains
  size_of_second,     // `in` of a list
  tenth_of_shorter,   // comparisons
  tenth_of_both,      // concatenation
  contains_ip,
  contains_ip_text,
  contains_cidr,
  contains_cidr_text,
  validate,
  list_result,  // a list as long as the result
  list_flatten,
  list_distinct,
  list_sort_by,
  sets,
  sets_twice,
};

/// The rule of a function; `overload` is empty where it is found only as it runs.
CostRule cost_rule(std::string_view function, std::string_view overload);
/// Before the call nothing is known of what it costs.
constexpr bool needs_result(CostRule rule) {
  return rule == CostRule::fifth_of_result || rule == CostRule::list_result;
}
/// `result` is read only where needs_result().
std::uint64_t cost(CostRule rule, std::span<const Value> args, Value result, Memory& memory);

inline constexpr std::uint64_t kListCost = 10, kMapCost = 30;

}  // namespace koord::cel
