// Optionals. `or` and `orValue` do not evaluate what they do not need: the evaluator has them.
#include <fmt/format.h>

#include "cel/library/tables.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

bool is_zero(Value value) {
  switch (value.kind()) {
    case Kind::null: return true;
    case Kind::boolean: return !value.as_bool();
    case Kind::integer:
    case Kind::unsigned_integer:
    case Kind::duration: return value.as_uint() == 0;
    case Kind::real: return value.as_real() == 0;
    case Kind::string:
    case Kind::bytes:
    case Kind::list:
    case Kind::map: return value.count() == 0;
    case Kind::optional: return !has_value(value);
    default: return false;
  }
}

Value of(Args args, Memory& memory) { return make_optional(args[0], memory); }
Value of_non_zero(Args args, Memory& memory) {
  return is_zero(args[0]) ? no_optional() : make_optional(args[0], memory);
}
Value none(Args, Memory&) { return no_optional(); }
Value value(Args args, Memory& memory) {
  return has_value(args[0]) ? optional_value(args[0]) : fail(memory, "optional.none() dereference");
}
Value has(Args args, Memory&) { return Value::boolean(has_value(args[0])); }

Value first(Args args, Memory& memory) {
  return args[0].count() == 0 ? no_optional() : make_optional(element(args[0], 0, memory), memory);
}
Value last(Args args, Memory& memory) {
  const std::uint32_t size = args[0].count();
  return size == 0 ? no_optional() : make_optional(element(args[0], size - 1, memory), memory);
}

Value unwrap(Args args, Memory& memory) {
  Value list = empty_list();
  for (std::uint32_t i = 0; i < args[0].count() && !list.is_error(); ++i) {
    const Value item = element(args[0], i, memory);
    if (item.kind() != Kind::optional)
      return fail(memory, fmt::format("value {} is not optional", to_string(item, memory)));
    if (has_value(item)) list = append(list, optional_value(item), memory);
  }
  return list;
}

}  // namespace

std::span<const Declaration> optional_table() {
  static constexpr Declaration kRows[] = {
      {"optional.of", "optional_of", "(A) -> optional(A)", of},
      {"optional.ofNonZeroValue", "optional_ofNonZeroValue", "(A) -> optional(A)", of_non_zero},
      {"optional.none", "optional_none", "() -> optional(A)", none},
      {"value", "optional_value", "optional(A).() -> A", value},
      {"hasValue", "optional_hasValue", "optional(A).() -> bool", has},
      {"or", "optional_or_optional", "optional(A).(optional(A)) -> optional(A)", nullptr},
      {"orValue", "optional_orValue_value", "optional(A).(A) -> A", nullptr},
      {"first", "list_first", "list(A).() -> optional(A)", first},
      {"last", "list_last", "list(A).() -> optional(A)", last},
      {"optional.unwrap", "optional_unwrap", "(list(optional(A))) -> list(A)", unwrap},
      {"unwrapOpt", "optional_unwrapOpt", "list(optional(A)).() -> list(A)", unwrap},
  };
  return kRows;
}

}  // namespace koord::cel
