// Operators: arithmetic with its overflows, order, membership, size.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "cel/library/tables.hpp"
#include "cel/values/json_formats.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

constexpr std::string_view kIntOverflow = "integer overflow", kUintOverflow = "unsigned integer overflow",
                           kDurationOverflow = "integer overflow", kTimestampOverflow = "timestamp overflow";

Value whole(bool overflows, std::int64_t value, Memory& memory) {
  return overflows ? fail(memory, kIntOverflow) : Value::integer(value);
}
Value natural(bool overflows, std::uint64_t value, Memory& memory) {
  return overflows ? fail(memory, kUintOverflow) : Value::unsigned_integer(value);
}
Value span_of(bool overflows, std::int64_t value, Memory& memory) {
  return overflows ? fail(memory, kDurationOverflow) : Value::duration(value);
}

Value moved(Value time, std::int64_t nanoseconds, Memory& memory) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t nanos = static_cast<std::int64_t>(time.nanos()) + nanoseconds % kSecond;
  std::int64_t seconds = 0;
  if (__builtin_add_overflow(time.as_int(), nanoseconds / kSecond, &seconds))
    return fail(memory, kIntOverflow);
  if (nanos < 0 || nanos >= kSecond) {
    seconds += nanos < 0 ? -1 : 1;
    nanos += nanos < 0 ? kSecond : -kSecond;
  }
  if (seconds < kFirstSecond || seconds > kLastSecond) return fail(memory, kTimestampOverflow);
  return Value::timestamp(seconds, static_cast<std::uint32_t>(nanos), time.offset_minutes());
}

Value joined(Value a, Value b, Memory& memory) {
  const std::size_t size = std::size_t{a.count()} + b.count();
  char* text = size > UINT32_MAX ? nullptr : memory.make<char>(size + 1);
  if (!text) return out_of_memory();
  a.text().copy(text, a.count());
  b.text().copy(text + a.count(), b.count());
  const std::string_view view(text, size);
  return a.kind() == Kind::string ? Value::string(view) : Value::bytes(view);
}

Value subtract(Args args, Memory& memory) {
  const Value a = args[0], b = args[1];
  std::int64_t difference = 0;
  if (a.kind() == Kind::timestamp && b.kind() == Kind::duration) {
    if (b.as_int() == INT64_MIN) return fail(memory, kDurationOverflow);
    return moved(a, -b.as_int(), memory);
  }
  if (a.kind() != b.kind()) return no_such_overload();
  switch (a.kind()) {
    case Kind::integer:
      return whole(__builtin_sub_overflow(a.as_int(), b.as_int(), &difference), difference, memory);
    case Kind::unsigned_integer: return natural(b.as_uint() > a.as_uint(), a.as_uint() - b.as_uint(), memory);
    case Kind::real: return Value::real(a.as_real() - b.as_real());
    case Kind::duration:
      return span_of(__builtin_sub_overflow(a.as_int(), b.as_int(), &difference), difference, memory);
    case Kind::timestamp: {
      std::int64_t seconds = 0;
      const bool overflows =
          __builtin_sub_overflow(a.as_int(), b.as_int(), &seconds) ||
          __builtin_mul_overflow(seconds, std::int64_t{1'000'000'000}, &seconds) ||
          __builtin_add_overflow(seconds,
                                 static_cast<std::int64_t>(a.nanos()) - static_cast<std::int64_t>(b.nanos()),
                                 &difference);
      return span_of(overflows, difference, memory);
    }
    default: return no_such_overload();
  }
}

Value multiply(Args args, Memory& memory) {
  const Value a = args[0], b = args[1];
  if (a.kind() != b.kind()) return no_such_overload();
  std::int64_t product = 0;
  std::uint64_t natural_product = 0;
  switch (a.kind()) {
    case Kind::integer:
      return whole(__builtin_mul_overflow(a.as_int(), b.as_int(), &product), product, memory);
    case Kind::unsigned_integer:
      return natural(__builtin_mul_overflow(a.as_uint(), b.as_uint(), &natural_product), natural_product,
                     memory);
    case Kind::real: return Value::real(a.as_real() * b.as_real());
    default: return no_such_overload();
  }
}

Value divide(Args args, Memory& memory) {
  const Value a = args[0], b = args[1];
  if (a.kind() != b.kind()) return no_such_overload();
  switch (a.kind()) {
    case Kind::integer:
      if (b.as_int() == 0) return fail(memory, "division by zero");
      if (b.as_int() == -1)
        return whole(a.as_int() == INT64_MIN, static_cast<std::int64_t>(0 - a.as_uint()), memory);
      return Value::integer(a.as_int() / b.as_int());
    case Kind::unsigned_integer:
      if (b.as_uint() == 0) return fail(memory, "division by zero");
      return Value::unsigned_integer(a.as_uint() / b.as_uint());
    case Kind::real: return Value::real(a.as_real() / b.as_real());
    default: return no_such_overload();
  }
}

Value modulo(Args args, Memory& memory) {
  const Value a = args[0], b = args[1];
  if (a.kind() != b.kind()) return no_such_overload();
  switch (a.kind()) {
    case Kind::integer:
      if (b.as_int() == 0) return fail(memory, "modulus by zero");
      if (b.as_int() == -1) return whole(a.as_int() == INT64_MIN, 0, memory);
      return Value::integer(a.as_int() % b.as_int());
    case Kind::unsigned_integer:
      if (b.as_uint() == 0) return fail(memory, "modulus by zero");
      return Value::unsigned_integer(a.as_uint() % b.as_uint());
    default: return no_such_overload();
  }
}

Value negate(Args args, Memory& memory) {
  switch (args[0].kind()) {
    case Kind::integer:
      if (args[0].as_int() == INT64_MIN) return fail(memory, kIntOverflow);
      return Value::integer(-args[0].as_int());
    case Kind::real: return Value::real(-args[0].as_real());
    default: return no_such_overload();
  }
}

Value negation(Args args, Memory&) {
  return args[0].kind() == Kind::boolean ? Value::boolean(!args[0].as_bool()) : no_such_overload();
}

template <class Test>
Value ordered(Args args, Memory& memory, Test test) {
  if (const auto result = order(args[0], args[1])) return Value::boolean(test(*result));
  const bool nan = args[0].kind() == Kind::real || args[1].kind() == Kind::real;
  const auto number = [](Value value) {
    return value.kind() == Kind::real || value.kind() == Kind::integer ||
           value.kind() == Kind::unsigned_integer;
  };
  if (nan && number(args[0]) && number(args[1])) return fail(memory, "NaN values cannot be ordered");
  return no_such_overload();
}

Value less(Args args, Memory& memory) {
  return ordered(args, memory, [](int o) { return o < 0; });
}
Value at_most(Args args, Memory& memory) {
  return ordered(args, memory, [](int o) { return o <= 0; });
}
Value greater(Args args, Memory& memory) {
  return ordered(args, memory, [](int o) { return o > 0; });
}
Value at_least(Args args, Memory& memory) {
  return ordered(args, memory, [](int o) { return o >= 0; });
}

Value contained(Args args, Memory& memory) {
  const Value wanted = args[0], container = args[1];
  if (container.kind() == Kind::map) {
    const auto found = find(container, wanted, memory);
    return found && found->is_error() ? *found : Value::boolean(found.has_value());
  }
  if (container.kind() != Kind::list) return no_such_overload();
  for (std::uint32_t i = 0; i < container.count(); ++i) {
    if (!memory.step()) return out_of_memory();
    if (equal(wanted, element(container, i, memory), memory)) return Value::boolean(true);
  }
  return Value::boolean(false);
}

Value size(Args args, Memory&) {
  switch (args[0].kind()) {
    case Kind::string:
    case Kind::bytes:
    case Kind::list:
    case Kind::map: return Value::integer(static_cast<std::int64_t>(actual_size(args[0])));
    default: return no_such_overload();
  }
}

Value type_of_value(Args args, Memory&) { return Value::type(runtime_type(args[0])); }
Value as_it_is(Args args, Memory&) { return args[0]; }
Value insert(Args args, Memory& memory) {
  Value map = args[0];
  if (map.kind() != Kind::map) return no_such_overload();
  const auto one = [&](Value key, Value value) {
    if (find(map, key, memory)) {
      map = fail(memory, fmt::format("insert failed: key {} already exists", to_string(key, memory)));
      return;
    }
    map = put(map, key, value, memory);
  };
  if (args.size() == 3) {
    one(args[1], args[2]);
    return map;
  }
  if (args[1].kind() != Kind::map) return no_such_overload();
  for (std::uint32_t i = 0; i < args[1].count() && !map.is_error(); ++i)
    if (const auto pair = entry(args[1], i, memory)) one(pair->first, pair->second);
  return map;
}

/// Of an order: the types that have one, and those of numbers that mix.
void add_order(std::vector<Declaration>& rows, std::string_view function, const char* const (&ids)[14],
               Implementation run) {
  static constexpr std::array<std::string_view, 14> kSignatures = {"(bool, bool) -> bool",
                                                                   "(int, int) -> bool",
                                                                   "(int, double) -> bool",
                                                                   "(int, uint) -> bool",
                                                                   "(uint, uint) -> bool",
                                                                   "(uint, double) -> bool",
                                                                   "(uint, int) -> bool",
                                                                   "(double, double) -> bool",
                                                                   "(double, int) -> bool",
                                                                   "(double, uint) -> bool",
                                                                   "(string, string) -> bool",
                                                                   "(bytes, bytes) -> bool",
                                                                   "(timestamp, timestamp) -> bool",
                                                                   "(duration, duration) -> bool"};
  for (std::size_t i = 0; i < kSignatures.size(); ++i)
    rows.push_back({function, ids[i], kSignatures[i], run});
}

// Only those that cost what they read have names that anybody asks for.
constexpr const char* kOrderIds[14] = {
    "order_bool",        "order_int",      "order_int_double", "order_int_uint",   "order_uint",
    "order_uint_double", "order_uint_int", "order_double",     "order_double_int", "order_double_uint",
    "order_string",      "order_bytes",    "order_timestamp",  "order_duration"};

}  // namespace

Value add(std::span<const Value> args, Memory& memory) {
  const Value a = args[0], b = args[1];
  std::int64_t sum = 0;
  std::uint64_t natural_sum = 0;
  if (a.kind() == Kind::timestamp && b.kind() == Kind::duration) return moved(a, b.as_int(), memory);
  if (a.kind() == Kind::duration && b.kind() == Kind::timestamp) return moved(b, a.as_int(), memory);
  if (a.kind() != b.kind()) return no_such_overload();
  switch (a.kind()) {
    case Kind::integer: return whole(__builtin_add_overflow(a.as_int(), b.as_int(), &sum), sum, memory);
    case Kind::unsigned_integer:
      return natural(__builtin_add_overflow(a.as_uint(), b.as_uint(), &natural_sum), natural_sum, memory);
    case Kind::real: return Value::real(a.as_real() + b.as_real());
    case Kind::duration: return span_of(__builtin_add_overflow(a.as_int(), b.as_int(), &sum), sum, memory);
    case Kind::string:
    case Kind::bytes: return joined(a, b, memory);
    case Kind::list: return concatenate(a, b, memory);
    default: return no_such_overload();
  }
}

std::span<const Declaration> operator_table() {
  static const std::vector<Declaration> kRows = [] {
    std::vector<Declaration> rows = {
        {"_?_:_", "conditional", "(bool, A, A) -> A", nullptr},
        {"_&&_", "logical_and", "(bool, bool) -> bool", nullptr},
        {"_||_", "logical_or", "(bool, bool) -> bool", nullptr},
        {"!_", "logical_not", "(bool) -> bool", negation},
        {"@not_strictly_false", "not_strictly_false", "(bool) -> bool", nullptr},
        {"_==_", "equals", "(A, A) -> bool", nullptr},
        {"_!=_", "not_equals", "(A, A) -> bool", nullptr},
        {"_+_", "add_bytes", "(bytes, bytes) -> bytes", add},
        {"_+_", "add_double", "(double, double) -> double", add},
        {"_+_", "add_duration_duration", "(duration, duration) -> duration", add},
        {"_+_", "add_duration_timestamp", "(duration, timestamp) -> timestamp", add},
        {"_+_", "add_timestamp_duration", "(timestamp, duration) -> timestamp", add},
        {"_+_", "add_int64", "(int, int) -> int", add},
        {"_+_", "add_list", "(list(A), list(A)) -> list(A)", add},
        {"_+_", "add_string", "(string, string) -> string", add},
        {"_+_", "add_uint64", "(uint, uint) -> uint", add},
        {"_-_", "subtract_double", "(double, double) -> double", subtract},
        {"_-_", "subtract_duration_duration", "(duration, duration) -> duration", subtract},
        {"_-_", "subtract_int64", "(int, int) -> int", subtract},
        {"_-_", "subtract_timestamp_duration", "(timestamp, duration) -> timestamp", subtract},
        {"_-_", "subtract_timestamp_timestamp", "(timestamp, timestamp) -> duration", subtract},
        {"_-_", "subtract_uint64", "(uint, uint) -> uint", subtract},
        {"_*_", "multiply_double", "(double, double) -> double", multiply},
        {"_*_", "multiply_int64", "(int, int) -> int", multiply},
        {"_*_", "multiply_uint64", "(uint, uint) -> uint", multiply},
        {"_/_", "divide_double", "(double, double) -> double", divide},
        {"_/_", "divide_int64", "(int, int) -> int", divide},
        {"_/_", "divide_uint64", "(uint, uint) -> uint", divide},
        {"_%_", "modulo_int64", "(int, int) -> int", modulo},
        {"_%_", "modulo_uint64", "(uint, uint) -> uint", modulo},
        {"-_", "negate_double", "(double) -> double", negate},
        {"-_", "negate_int64", "(int) -> int", negate},
        {"_[_]", "index_list", "(list(A), int) -> A", nullptr},
        {"_[_]", "index_map", "(map(A, B), A) -> B", nullptr},
        {"_[_]", "optional_list_index_int", "(optional(list(A)), int) -> optional(A)", nullptr},
        {"_[_]", "optional_map_index_value", "(optional(map(A, B)), A) -> optional(B)", nullptr},
        {"_[?_]", "list_optindex_optional_int", "(list(A), int) -> optional(A)", nullptr},
        {"_[?_]", "optional_list_optindex_optional_int", "(optional(list(A)), int) -> optional(A)", nullptr},
        {"_[?_]", "map_optindex_optional_value", "(map(A, B), A) -> optional(B)", nullptr},
        {"_[?_]", "optional_map_optindex_optional_value", "(optional(map(A, B)), A) -> optional(B)", nullptr},
        {"@in", "in_list", "(A, list(A)) -> bool", contained},
        {"@in", "in_map", "(A, map(A, B)) -> bool", contained},
        {"size", "size_bytes", "(bytes) -> int", size},
        {"size", "bytes_size", "bytes.() -> int", size},
        {"size", "size_list", "(list(A)) -> int", size},
        {"size", "list_size", "list(A).() -> int", size},
        {"size", "size_map", "(map(A, B)) -> int", size},
        {"size", "map_size", "map(A, B).() -> int", size},
        {"size", "size_string", "(string) -> int", size},
        {"size", "string_size", "string.() -> int", size},
        {"type", "type", "(A) -> type(A)", type_of_value},
        {"dyn", "to_dyn", "(A) -> dyn", as_it_is},
        {"cel.@mapInsert", "@mapInsert_map_key_value", "(map(A, B), A, B) -> map(A, B)", insert},
        {"cel.@mapInsert", "@mapInsert_map_map", "(map(A, B), map(A, B)) -> map(A, B)", insert},
    };
    add_order(rows, "_<_", kOrderIds, less);
    add_order(rows, "_<=_", kOrderIds, at_most);
    add_order(rows, "_>_", kOrderIds, greater);
    add_order(rows, "_>=_", kOrderIds, at_least);
    return rows;
  }();
  return kRows;
}

}  // namespace koord::cel
