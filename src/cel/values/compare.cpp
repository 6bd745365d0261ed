// Equality, order and hashes.
#include "cel/values/compare.hpp"

#include <cmath>
#include <functional>

#include "cel/values/kubernetes_values.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

template <class T>
int three_way(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

int compare_real_int(double a, std::int64_t b) {
  if (a < -0x1p63) return -1;
  if (a > 0x1p63) return 1;
  return three_way(a, static_cast<double>(b));
}
int compare_real_uint(double a, std::uint64_t b) {
  if (a < 0) return -1;
  if (a > 0x1p64) return 1;
  return three_way(a, static_cast<double>(b));
}
int compare_int_uint(std::int64_t a, std::uint64_t b) {
  return a < 0 ? -1 : three_way(static_cast<std::uint64_t>(a), b);
}

bool is_nan(Value value) { return value.kind() == Kind::real && std::isnan(value.as_real()); }

bool equal_elements(Value a, Value b, Memory& memory) {
  for (std::uint32_t i = 0; i < a.count(); ++i)
    if (!memory.step() || !equal(element(a, i, memory), element(b, i, memory), memory)) return false;
  return true;
}

/// Every element of `a` is in `b`, which has as many.
bool equal_sets(Value a, Value b, Memory& memory) {
  for (std::uint32_t i = 0; i < a.count(); ++i) {
    const Value wanted = element(a, i, memory);
    bool found = false;
    for (std::uint32_t j = 0; j < b.count() && !found; ++j) {
      if (!memory.step()) return false;
      found = equal(wanted, element(b, j, memory), memory);
    }
    if (!found) return false;
  }
  return true;
}

Shape::List list_kind(Value list) {
  if (list.form() != Value::Form::json || !list.has_shape()) return Shape::List::atomic;
  return static_cast<const JsonNode*>(list.pointer())->shape->list;
}

bool equal_maps(Value a, Value b, Memory& memory) {
  for (std::uint32_t i = 0; i < a.count(); ++i) {
    if (!memory.step()) return false;
    const auto pair = entry(a, i, memory);
    if (!pair) continue;
    const auto other = find(b, pair->first, memory);
    if (!other || !equal(pair->second, *other, memory)) return false;
  }
  return true;
}

}  // namespace

int compare_numbers(Value a, Value b) {
  switch (a.kind()) {
    case Kind::integer:
      switch (b.kind()) {
        case Kind::integer: return three_way(a.as_int(), b.as_int());
        case Kind::unsigned_integer: return compare_int_uint(a.as_int(), b.as_uint());
        default: return -compare_real_int(b.as_real(), a.as_int());
      }
    case Kind::unsigned_integer:
      switch (b.kind()) {
        case Kind::integer: return -compare_int_uint(b.as_int(), a.as_uint());
        case Kind::unsigned_integer: return three_way(a.as_uint(), b.as_uint());
        default: return -compare_real_uint(b.as_real(), a.as_uint());
      }
    default:
      switch (b.kind()) {
        case Kind::integer: return compare_real_int(a.as_real(), b.as_int());
        case Kind::unsigned_integer: return compare_real_uint(a.as_real(), b.as_uint());
        default: return three_way(a.as_real(), b.as_real());
      }
  }
}

bool equal(Value a, Value b, Memory& memory) {
  if (is_number(a) && is_number(b)) return !is_nan(a) && !is_nan(b) && compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::null: return true;
    case Kind::boolean: return a.as_bool() == b.as_bool();
    case Kind::string:
    case Kind::bytes: return a.text() == b.text();
    case Kind::duration: return a.as_int() == b.as_int();
    case Kind::timestamp: return a.as_int() == b.as_int() && a.nanos() == b.nanos();
    case Kind::type: return name_of(a.as_type()) == name_of(b.as_type());
    case Kind::optional:
      if (!has_value(a) || !has_value(b)) return has_value(a) == has_value(b);
      return memory.step() && equal(optional_value(a), optional_value(b), memory);
    case Kind::list:
      if (a.count() != b.count()) return false;
      return list_kind(a) != Shape::List::atomic ? equal_sets(a, b, memory) : equal_elements(a, b, memory);
    case Kind::map: return a.count() == b.count() && equal_maps(a, b, memory);
    case Kind::quantity: return quantity_of(a) == quantity_of(b);
    case Kind::ip:
      return network_of(a).length == network_of(b).length && network_of(a).bytes == network_of(b).bytes;
    case Kind::cidr:
      return network_of(a).length == network_of(b).length && network_of(a).bits == network_of(b).bits &&
             network_of(a).bytes == network_of(b).bytes;
    case Kind::url:
    case Kind::semver:
    case Kind::format: return equal_kubernetes(a, b);
    default: return false;
  }
}

std::optional<int> order(Value a, Value b) {
  if (is_number(a) && is_number(b)) {
    if (is_nan(a) || is_nan(b)) return std::nullopt;
    return compare_numbers(a, b);
  }
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case Kind::boolean: return three_way(a.as_int(), b.as_int());
    case Kind::string:
    case Kind::bytes: return three_way(a.text().compare(b.text()), 0);
    case Kind::duration: return three_way(a.as_int(), b.as_int());
    case Kind::timestamp: {
      const int seconds = three_way(a.as_int(), b.as_int());
      return seconds != 0 ? seconds : three_way(a.nanos(), b.nanos());
    }
    default: return std::nullopt;
  }
}

std::size_t hash(Value key) {
  switch (key.kind()) {
    case Kind::boolean: return key.as_bool() ? 1 : 2;
    case Kind::integer:
      return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(key.as_int()) * 0x9e3779b97f4a7c15u >> 20);
    case Kind::unsigned_integer: return std::hash<std::uint64_t>()(key.as_uint() * 0x9e3779b97f4a7c15u >> 20);
    case Kind::real: {
      // What equals an integer hashes like it.
      const double value = key.as_real();
      if (value >= -0x1p63 && value < 0x1p63 && value == std::trunc(value))
        return hash(Value::integer(static_cast<std::int64_t>(value)));
      if (value >= 0x1p63 && value < 0x1p64 && value == std::trunc(value))
        return hash(Value::unsigned_integer(static_cast<std::uint64_t>(value)));
      return std::hash<double>()(value);
    }
    case Kind::string:
    case Kind::bytes: return std::hash<std::string_view>()(key.text());
    default: return 0;
  }
}

bool same_key(Value a, Value b) {
  if (is_number(a) && is_number(b)) return !is_nan(a) && !is_nan(b) && compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::boolean: return a.as_bool() == b.as_bool();
    case Kind::string:
    case Kind::bytes: return a.text() == b.text();
    default: return false;
  }
}

}  // namespace koord::cel
