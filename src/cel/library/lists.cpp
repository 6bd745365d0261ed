// Lists: Kubernetes' functions, the lists extension (version 3), sets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "cel/library/tables.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

bool ordered_kind(Value value) { return order(value, value).has_value() || value.kind() == Kind::real; }

Value is_sorted(Args args, Memory& memory) {
  Value before;
  for (std::uint32_t i = 0; i < args[0].count(); ++i) {
    const Value next = element(args[0], i, memory);
    if (!ordered_kind(next)) return no_such_overload();
    if (i != 0 && order(before, next).value_or(0) > 0) return Value::boolean(false);
    before = next;
  }
  return Value::boolean(true);
}

template <Kind kKind>
Value sum(Args args, Memory& memory) {
  Value total = kKind == Kind::integer    ? Value::integer(0)
                : kKind == Kind::real     ? Value::real(0)
                : kKind == Kind::duration ? Value::duration(0)
                                          : Value::unsigned_integer(0);
  for (std::uint32_t i = 0; i < args[0].count() && !total.is_error(); ++i) {
    const std::array<Value, 2> both = {total, element(args[0], i, memory)};
    if (both[1].is_error()) return both[1];
    total = add(both, memory);
  }
  return total;
}

template <int kPrefer>
Value best(Args args, Memory& memory) {
  if (args[0].count() == 0)
    return fail(memory, kPrefer < 0 ? "min called on empty list" : "max called on empty list");
  Value result = element(args[0], 0, memory);
  for (std::uint32_t i = 0; i < args[0].count(); ++i) {
    const Value next = element(args[0], i, memory);
    if (next.is_error()) return next;
    if (!ordered_kind(next)) return no_such_overload();
    if (order(result, next).value_or(0) == -kPrefer) result = next;
  }
  return result;
}

Value index_of(Args args, Memory& memory) {
  for (std::uint32_t i = 0; i < args[0].count(); ++i)
    if (memory.step() && equal(element(args[0], i, memory), args[1], memory)) return Value::integer(i);
  return Value::integer(-1);
}

Value last_index_of(Args args, Memory& memory) {
  for (std::uint32_t i = args[0].count(); i-- > 0;)
    if (memory.step() && equal(element(args[0], i, memory), args[1], memory)) return Value::integer(i);
  return Value::integer(-1);
}

Value slice(Args args, Memory& memory) {
  const std::int64_t start = args[1].as_int(), end = args[2].as_int();
  const auto complain = [&](std::string_view why) {
    return fail(memory, fmt::format("cannot slice({}, {}), {}", start, end, why));
  };
  if (start < 0 || end < 0) return complain("negative indexes not supported");
  if (start > end) return complain("start index must be less than or equal to end index");
  if (args[0].count() < end) return complain(fmt::format("list is length {}", args[0].count()));
  Value list = list_with_room(static_cast<std::size_t>(end - start), memory);
  for (std::int64_t i = start; i < end && !list.is_error(); ++i)
    list = append(list, element(args[0], static_cast<std::uint32_t>(i), memory), memory);
  return list;
}

Value flattened(Value list, std::int64_t depth, Value into, Memory& memory) {
  for (std::uint32_t i = 0; i < list.count() && !into.is_error(); ++i) {
    const Value item = element(list, i, memory);
    if (!memory.step()) return out_of_memory();
    into = item.kind() == Kind::list && depth > 0 ? flattened(item, depth - 1, into, memory)
                                                  : append(into, item, memory);
  }
  return into;
}

Value flatten(Args args, Memory& memory) {
  if (args[0].kind() != Kind::list) return no_such_overload();
  const std::int64_t depth = args.size() == 2 ? args[1].as_int() : 1;
  if (depth < 0) return fail(memory, "level must be non-negative");
  return flattened(args[0], depth, empty_list(), memory);
}

Value sorted_by(Value list, Value keys, Memory& memory) {
  const std::uint32_t size = list.count();
  if (keys.count() != size)
    return fail(memory, fmt::format("@sortByAssociatedKeys() expected a list of the same size as the "
                                    "associated keys list, but got {} and {} elements respectively",
                                    size, keys.count()));
  if (size == 0) return list;
  auto* numbers = memory.make<std::uint32_t>(size);
  auto* made = memory.make<Value>(size);
  if (!numbers || !made || !memory.step(std::size_t{size} * 4)) return out_of_memory();
  for (std::uint32_t i = 0; i < size; ++i) made[i] = element(keys, i, memory);
  if (!ordered_kind(made[0])) return fail(memory, "list elements must be comparable");
  for (std::uint32_t i = 1; i < size; ++i)
    if (made[i].kind() != made[0].kind()) return fail(memory, "list elements must have the same type");
  std::iota(numbers, numbers + size, 0u);
  // NaN goes behind all numbers, so that this is an order.
  const auto nan = [&](std::uint32_t i) {
    return made[i].kind() == Kind::real && made[i].as_real() != made[i].as_real();
  };
  std::stable_sort(numbers, numbers + size, [&](std::uint32_t a, std::uint32_t b) {
    if (nan(a) || nan(b)) return !nan(a) && nan(b);
    return order(made[a], made[b]).value_or(0) < 0;
  });
  Value result = list_with_room(size, memory);
  for (std::uint32_t i = 0; i < size && !result.is_error(); ++i)
    result = append(result, element(list, numbers[i], memory), memory);
  return result;
}

Value sort(Args args, Memory& memory) { return sorted_by(args[0], args[0], memory); }
Value sort_by_keys(Args args, Memory& memory) { return sorted_by(args[0], args[1], memory); }

Value range(Args args, Memory& memory) {
  const std::int64_t size = std::max<std::int64_t>(args[0].as_int(), 0);
  if (size > UINT32_MAX) return out_of_memory();
  Value list = list_with_room(static_cast<std::size_t>(size), memory);
  for (std::int64_t i = 0; i < size && !list.is_error(); ++i) list = append(list, Value::integer(i), memory);
  return list;
}

Value reverse(Args args, Memory& memory) {
  Value list = list_with_room(args[0].count(), memory);
  for (std::uint32_t i = args[0].count(); i-- > 0 && !list.is_error();)
    list = append(list, element(args[0], i, memory), memory);
  return list;
}

bool is_in(Value list, Value wanted, Memory& memory) {
  for (std::uint32_t i = 0; i < list.count() && memory.step(); ++i)
    if (equal(wanted, element(list, i, memory), memory)) return true;
  return false;
}

Value distinct(Args args, Memory& memory) {
  Value list = empty_list();
  for (std::uint32_t i = 0; i < args[0].count() && !list.is_error(); ++i) {
    const Value item = element(args[0], i, memory);
    if (!is_in(list, item, memory)) list = append(list, item, memory);
  }
  return list;
}

bool holds_all(Value list, Value wanted, Memory& memory) {
  for (std::uint32_t i = 0; i < wanted.count(); ++i)
    if (!is_in(list, element(wanted, i, memory), memory)) return false;
  return true;
}

Value sets_contains(Args args, Memory& memory) { return Value::boolean(holds_all(args[0], args[1], memory)); }
Value sets_equivalent(Args args, Memory& memory) {
  return Value::boolean(holds_all(args[0], args[1], memory) && holds_all(args[1], args[0], memory));
}
Value sets_intersects(Args args, Memory& memory) {
  for (std::uint32_t i = 0; i < args[0].count(); ++i)
    if (is_in(args[1], element(args[0], i, memory), memory)) return Value::boolean(true);
  return Value::boolean(false);
}

struct Row {
  std::string function, id, signature;
  Implementation run;
};

/// Rows whose signatures name a type.
const std::vector<Row>& typed_rows() {
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    for (const std::string type :
         {"int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"}) {
      const std::string list = fmt::format("list({})", type);
      rows.push_back({"isSorted", fmt::format("list_{}_is_sorted_bool", type),
                      fmt::format("{}.() -> bool", list), is_sorted});
      rows.push_back(
          {"max", fmt::format("list_{0}_max_{0}", type), fmt::format("{}.() -> {}", list, type), best<1>});
      rows.push_back(
          {"min", fmt::format("list_{0}_min_{0}", type), fmt::format("{}.() -> {}", list, type), best<-1>});
      rows.push_back({"sort", fmt::format("list_{}_sort", type), fmt::format("{0}.() -> {0}", list), sort});
      rows.push_back({"@sortByAssociatedKeys", fmt::format("list_{}_sortByAssociatedKeys", type),
                      fmt::format("list(A).({}) -> list(A)", list), sort_by_keys});
    }
    rows.push_back({"sum", "list_int_sum_int", "list(int).() -> int", sum<Kind::integer>});
    rows.push_back({"sum", "list_uint_sum_uint", "list(uint).() -> uint", sum<Kind::unsigned_integer>});
    rows.push_back({"sum", "list_double_sum_double", "list(double).() -> double", sum<Kind::real>});
    rows.push_back(
        {"sum", "list_duration_sum_duration", "list(duration).() -> duration", sum<Kind::duration>});
    return rows;
  }();
  return kRows;
}

}  // namespace

std::span<const Declaration> list_table() {
  static const std::vector<Declaration> kRows = [] {
    std::vector<Declaration> rows = {
        {"indexOf", "list_a_index_of_int", "list(A).(A) -> int", index_of},
        {"lastIndexOf", "list_a_last_index_of_int", "list(A).(A) -> int", last_index_of},
        {"slice", "list_slice", "list(A).(int, int) -> list(A)", slice},
        {"flatten", "list_flatten", "list(list(A)).() -> list(A)", flatten},
        {"flatten", "list_flatten_int", "list(dyn).(int) -> list(dyn)", flatten},
        {"lists.range", "lists_range", "(int) -> list(int)", range},
        {"reverse", "list_reverse", "list(A).() -> list(A)", reverse},
        {"distinct", "list_distinct", "list(A).() -> list(A)", distinct},
        {"sets.contains", "list_sets_contains_list", "(list(A), list(A)) -> bool", sets_contains},
        {"sets.equivalent", "list_sets_equivalent_list", "(list(A), list(A)) -> bool", sets_equivalent},
        {"sets.intersects", "list_sets_intersects_list", "(list(A), list(A)) -> bool", sets_intersects},
    };
    for (const Row& row : typed_rows()) rows.push_back({row.function, row.id, row.signature, row.run});
    return rows;
  }();
  return kRows;
}

}  // namespace koord::cel
