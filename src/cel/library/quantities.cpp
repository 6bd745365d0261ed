// Kubernetes' quantities.
#include <compare>

#include "cel/library/tables.hpp"
#include "cel/values/representation.hpp"
#include "koord/api/values/quantity.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

std::optional<std::int64_t> whole(const api::Quantity& quantity) {
  api::Quantity rounded = quantity;
  if (!rounded.round_up(0)) return std::nullopt;
  const std::int64_t value = rounded.value();
  if (api::Quantity::from_int(value) != quantity) return std::nullopt;  // it was cut off
  return value;
}

Value make(Args args, Memory& memory) { return Value::quantity(args[0].text(), memory); }
Value is_quantity(Args args, Memory&) {
  return Value::boolean(api::Quantity::parse(args[0].text()).has_value());
}
Value sign(Args args, Memory&) { return Value::integer(quantity_of(args[0]).sign()); }
Value greater(Args args, Memory&) { return Value::boolean(quantity_of(args[0]) > quantity_of(args[1])); }
Value less(Args args, Memory&) { return Value::boolean(quantity_of(args[0]) < quantity_of(args[1])); }
Value compare(Args args, Memory&) {
  const auto order = quantity_of(args[0]) <=> quantity_of(args[1]);
  return Value::integer(std::is_lt(order) ? -1 : std::is_gt(order) ? 1 : 0);
}
Value as_float(Args args, Memory&) { return Value::real(quantity_of(args[0]).to_double()); }
Value is_integer(Args args, Memory&) { return Value::boolean(whole(quantity_of(args[0])).has_value()); }
Value as_integer(Args args, Memory& memory) {
  const auto value = whole(quantity_of(args[0]));
  return value ? Value::integer(*value) : fail(memory, "cannot convert value to integer");
}

api::Quantity other(Value value) {
  if (value.kind() == Kind::quantity) return quantity_of(value);
  return api::Quantity::from_int(value.as_int(), api::Quantity::Format::decimal_exponent);
}
Value add_to(Args args, Memory& memory) {
  return make_quantity(quantity_of(args[0]) + other(args[1]), memory);
}
Value subtract(Args args, Memory& memory) {
  return make_quantity(quantity_of(args[0]) - other(args[1]), memory);
}

}  // namespace

Value make_quantity(const api::Quantity& quantity, Memory& memory) {
  if (!memory.step(4)) return out_of_memory();
  auto kept = std::make_shared<const api::Quantity>(quantity);
  const Value value = Value::make(Kind::quantity, Value::Form::owned, 0, kept.get());
  memory.keep(std::move(kept));
  return value;
}

Value Value::quantity(std::string_view text, Memory& memory) {
  const auto parsed = api::Quantity::parse(text);
  return parsed ? make_quantity(*parsed, memory) : fail(memory, parsed.error().message());
}

std::span<const Declaration> quantity_table() {
  static constexpr Declaration kRows[] = {
      {"quantity", "string_to_quantity", "(string) -> quantity", make},
      {"isQuantity", "is_quantity_string", "(string) -> bool", is_quantity},
      {"sign", "quantity_sign", "(quantity) -> int", sign},
      {"isGreaterThan", "quantity_is_greater_than", "quantity.(quantity) -> bool", greater},
      {"isLessThan", "quantity_is_less_than", "quantity.(quantity) -> bool", less},
      {"compareTo", "quantity_compare_to", "quantity.(quantity) -> int", compare},
      {"asApproximateFloat", "quantity_get_float", "quantity.() -> double", as_float},
      {"asInteger", "quantity_get_int", "quantity.() -> int", as_integer},
      {"isInteger", "quantity_is_integer", "quantity.() -> bool", is_integer},
      {"add", "quantity_add", "quantity.(quantity) -> quantity", add_to},
      {"add", "quantity_add_int", "quantity.(int) -> quantity", add_to},
      {"sub", "quantity_sub", "quantity.(quantity) -> quantity", subtract},
      {"sub", "quantity_sub_int", "quantity.(int) -> quantity", subtract},
  };
  return kRows;
}

}  // namespace koord::cel
