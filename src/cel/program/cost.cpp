#include "cel/program/cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "cel/values/kubernetes_values.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

using Rules = std::map<std::string_view, CostRule>;

/// By name, whatever the overload.
const Rules& function_rules() {
  static const Rules kRules = {
      {"isSorted", CostRule::traverses_elements},
      {"sum", CostRule::traverses_elements},
      {"max", CostRule::traverses_elements},
      {"min", CostRule::traverses_elements},
      {"indexOf", CostRule::traverses_elements},
      {"lastIndexOf", CostRule::traverses_elements},
      {"url", CostRule::tenth_of_first},
      {"lowerAscii", CostRule::tenth_of_first},
      {"upperAscii", CostRule::tenth_of_first},
      {"substring", CostRule::tenth_of_first},
      {"trim", CostRule::tenth_of_first},
      {"replace", CostRule::fifth_of_first},
      {"split", CostRule::fifth_of_first},
      {"join", CostRule::fifth_of_result},
      {"find", CostRule::pattern},
      {"findAll", CostRule::pattern},
      {"cidr", CostRule::tenth_of_first},
      {"isIP", CostRule::tenth_of_first},
      {"isCIDR", CostRule::tenth_of_first},
      {"ip", CostRule::tenth_of_first},
      {"ip.isCanonical", CostRule::fifth_of_first},
      {"containsIP", CostRule::contains_ip},
      {"containsCIDR", CostRule::contains_cidr},
      {"quantity", CostRule::tenth_of_first},
      {"isQuantity", CostRule::tenth_of_first},
      {"semver", CostRule::tenth_of_first},
      {"isSemver", CostRule::tenth_of_first},
      {"validate", CostRule::validate},
      {"_==_", CostRule::tenth_of_shorter},
      {"_!=_", CostRule::tenth_of_shorter},
  };
  return kRules;
}

/// By the overload, which goes before the name.
const Rules& overload_rules() {
  static const Rules kRules = {
      {"cidr_ip", CostRule::one},
      {"cidr_contains_ip_string", CostRule::contains_ip_text},
      {"cidr_contains_cidr_string", CostRule::contains_cidr_text},
      {"starts_with_string", CostRule::tenth_of_first},
      {"ends_with_string", CostRule::tenth_of_first},
      {"string_to_bytes", CostRule::tenth_of_first},
      {"bytes_to_string", CostRule::tenth_of_first},
      {"strings_quote", CostRule::tenth_of_first},
      {"string_format", CostRule::tenth_of_first},
      {"in_list", CostRule::size_of_second},
      {"order_string", CostRule::tenth_of_shorter},
      {"order_bytes", CostRule::tenth_of_shorter},
      {"add_string", CostRule::tenth_of_both},
      {"add_bytes", CostRule::tenth_of_both},
      {"matches_string", CostRule::pattern},
      {"contains_string", CostRule::product_of_tenths},
      {"list_slice", CostRule::list_result},
      {"list_flatten", CostRule::list_flatten},
      {"list_flatten_int", CostRule::list_flatten},
      {"lists_range", CostRule::list_result},
      {"list_reverse", CostRule::list_result},
      {"list_distinct", CostRule::list_distinct},
      {"list_sets_contains_list", CostRule::sets},
      {"list_sets_intersects_list", CostRule::sets},
      {"list_sets_equivalent_list", CostRule::sets_twice},
  };
  return kRules;
}

constexpr double kTenth = 0.1, kQuarter = 0.25;

std::uint64_t scaled(double size, double factor) {
  return static_cast<std::uint64_t>(std::ceil(size * factor));
}
std::uint64_t tenth(Value value) { return scaled(static_cast<double>(actual_size(value)), kTenth); }

std::uint64_t pattern_cost(std::uint64_t text, std::uint64_t pattern) {
  return scaled(1.0 + static_cast<double>(text), kTenth) * scaled(static_cast<double>(pattern), kQuarter);
}

/// To the texts of lists and maps within one another.
std::uint64_t traversal(Value value, Memory& memory) {
  if (!memory.step()) return 0;
  std::uint64_t sum = 0;
  switch (value.kind()) {
    case Kind::string:
    case Kind::bytes: return static_cast<std::uint64_t>(static_cast<double>(value.count()) * kTenth);
    case Kind::list:
      for (std::uint32_t i = 0; i < value.count() && !memory.exhausted(); ++i)
        sum += traversal(element(value, i, memory), memory);
      return sum;
    case Kind::map:
      for (std::uint32_t i = 0; i < value.count() && !memory.exhausted(); ++i)
        if (const auto pair = entry(value, i, memory))
          sum += traversal(pair->first, memory) + traversal(pair->second, memory);
      return sum;
    default: return 1;
  }
}

std::uint64_t list_call(double factor, double size) {
  return static_cast<std::uint64_t>(size * factor) + 1 + kListCost;
}

/// Each with each.
std::uint64_t self_compare(Value list, Memory& memory) {
  if (list.kind() != Kind::list) return 1;  // of a call that was refused
  const auto size = static_cast<double>(list.count());
  double factor = 2.0;
  if (list.count() != 0) {
    const Kind kind = element(list, 0, memory).kind();
    if (kind == Kind::string || kind == Kind::bytes) factor += kTenth;
  }
  return list_call(factor, size * size);
}

bool costs_one_to_compare(Value value) {
  switch (value.kind()) {
    case Kind::quantity:
    case Kind::ip:
    case Kind::cidr:
    case Kind::format:
    case Kind::url:
    case Kind::semver: return true;
    default: return false;
  }
}

}  // namespace

CostRule cost_rule(std::string_view function, std::string_view overload) {
  if (function == "sort" && !overload.empty()) return CostRule::list_distinct;
  if (function == "@sortByAssociatedKeys" && !overload.empty()) return CostRule::list_sort_by;
  if (const auto found = overload_rules().find(overload); found != overload_rules().end())
    return found->second;
  if (const auto found = function_rules().find(function); found != function_rules().end())
    return found->second;
  return CostRule::one;
}

std::uint64_t cost(CostRule rule, std::span<const Value> args, Value result, Memory& memory) {
  const auto size = [&](std::size_t i) { return static_cast<double>(actual_size(args[i])); };
  switch (rule) {
    case CostRule::one: return 1;
    case CostRule::traverses_elements: return traversal(args[0], memory);
    case CostRule::tenth_of_first: return tenth(args[0]);
    case CostRule::fifth_of_first: return scaled(size(0) * 2, kTenth);
    case CostRule::fifth_of_result: return scaled(static_cast<double>(actual_size(result)) * 2, kTenth);
    case CostRule::pattern: return pattern_cost(actual_size(args[0]), actual_size(args[1]));
    case CostRule::product_of_tenths: return tenth(args[0]) * tenth(args[1]);
    case CostRule::size_of_second: return actual_size(args[1]);
    case CostRule::tenth_of_shorter:
      if (costs_one_to_compare(args[0])) return 1;
      return scaled(std::min(size(0), size(1)), kTenth);
    case CostRule::tenth_of_both: return scaled(size(0) + size(1), kTenth);
    case CostRule::contains_ip: return scaled(size(0) * 2, kTenth);
    case CostRule::contains_ip_text: return scaled(size(0) * 2, kTenth) + tenth(args[1]);
    case CostRule::contains_cidr: return scaled(size(0) * 2, kTenth) + tenth(args[0]) + 1;
    case CostRule::contains_cidr_text:
      return scaled(size(0) * 2, kTenth) + tenth(args[0]) + 1 + tenth(args[1]);
    case CostRule::validate:
      if (args[0].kind() != Kind::format) return 1;
      return pattern_cost(actual_size(args[1]), format_of(args[0]).regex_size);
    case CostRule::list_result: return list_call(1, static_cast<double>(actual_size(result)));
    case CostRule::list_flatten: {
      const bool deep = args.size() == 2 && args[1].kind() == Kind::integer;
      return list_call(deep ? static_cast<double>(std::max<std::int64_t>(args[1].as_int(), 0)) : 1, size(0));
    }
    case CostRule::list_distinct: return self_compare(args[0], memory);
    case CostRule::list_sort_by: return self_compare(args[1], memory);
    case CostRule::sets: return static_cast<std::uint64_t>(size(0) * size(1)) + 1;
    case CostRule::sets_twice: return static_cast<std::uint64_t>(size(0) * size(1) * 2) + 1;
  }
  return 1;
}

}  // namespace koord::cel
