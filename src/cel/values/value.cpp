// Values: scalars, errors, and reading JSON by its shape.
#include "koord/cel/value.hpp"

#include <fmt/format.h>

#include <cstring>

#include "cel/values/json_formats.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

constexpr Fault kNoSuchOverload{Fault::Code::evaluation, "no such overload"};
constexpr Fault kNoMemory{
    Fault::Code::memory, "operation cancelled: an expression may take 64 MiB of memory and 20,000,000 steps"};
constexpr Fault kNoBudget{Fault::Code::cost, "operation cancelled: actual cost limit exceeded"};

std::string_view go_type(const json::Value& value) {
  switch (value.type()) {
    case json::Type::null: return "<nil>";
    case json::Type::boolean: return "bool";
    case json::Type::number: return value.is_int() ? "int64" : "float64";
    case json::Type::string: return "string";
    case json::Type::array: return "[]interface {}";
    case json::Type::object: return "map[string]interface {}";
  }
  return {};
}

Value container(Kind kind, const json::Value& value, Memory& memory, const Shape* shape) {
  if (!shape) return Value::make(kind, Value::Form::json, static_cast<std::uint32_t>(value.size()), &value);
  auto* node = memory.make<JsonNode>();
  if (!node) return out_of_memory();
  *node = JsonNode{&value, shape};
  Value made = Value::make(kind, Value::Form::json, static_cast<std::uint32_t>(value.size()), node);
  return made.with_shape();
}

Value number(const json::Value& value) {
  if (const auto whole = value.to_int()) return Value::integer(*whole);
  return Value::real(value.to_double().value_or(0));
}

Value shaped(const json::Value& value, Memory& memory, const Shape& shape) {
  if (value.is_null())
    return shape.nullable ? Value::null()
                          : fail(memory, "invalid data, got null for schema with nullable=false");
  const auto wrong = [&](std::string_view wanted) {
    return fail(memory, fmt::format("invalid data, expected {}, got {}", wanted, go_type(value)));
  };
  switch (shape.expect) {
    case Shape::Expect::object:
      if (value.is_object()) return container(Kind::map, value, memory, &shape);
      return fail(memory, "invalid data, expected a map for the provided schema with type=object");
    case Shape::Expect::array:
      if (value.is_array()) return container(Kind::list, value, memory, &shape);
      return fail(memory, "invalid data, expected an array for the provided schema with type=array");
    case Shape::Expect::string:
      if (!value.is_string()) return wrong("string");
      return shape.format == Shape::Format::none ? Value::string(value.text())
                                                 : formatted(value.text(), shape.format, memory);
    case Shape::Expect::number:
      if (!value.is_number()) return wrong("float");
      return Value::real(value.to_double().value_or(0));
    case Shape::Expect::integer:
      if (!value.is_int()) return wrong("int");
      return Value::integer(*value.to_int());
    case Shape::Expect::boolean: return value.is_bool() ? Value::boolean(value.is_true()) : wrong("bool");
    case Shape::Expect::any: break;
  }
  return Value::json(value, memory);
}

}  // namespace

Value Value::make(Kind kind, Form form, std::uint32_t size, const void* pointer) {
  Value value;
  value.kind_ = kind;
  value.form_ = form;
  value.size_ = size;
  value.pointer_ = pointer;
  return value;
}

Value Value::with_shape() const {
  Value value = *this;
  value.extra_ = 1;
  return value;
}

Value Value::boolean(bool value) {
  Value made;
  made.kind_ = Kind::boolean;
  made.integer_ = value ? 1 : 0;
  return made;
}
Value Value::integer(std::int64_t value) {
  Value made;
  made.kind_ = Kind::integer;
  made.integer_ = value;
  return made;
}
Value Value::unsigned_integer(std::uint64_t value) {
  Value made;
  made.kind_ = Kind::unsigned_integer;
  made.unsigned_ = value;
  return made;
}
Value Value::real(double value) {
  Value made;
  made.kind_ = Kind::real;
  made.real_ = value;
  return made;
}
Value Value::string(std::string_view text) {
  return make(Kind::string, Form::owned, static_cast<std::uint32_t>(text.size()), text.data());
}
Value Value::bytes(std::string_view bytes) {
  return make(Kind::bytes, Form::owned, static_cast<std::uint32_t>(bytes.size()), bytes.data());
}
Value Value::duration(std::int64_t nanoseconds) {
  Value made = integer(nanoseconds);
  made.kind_ = Kind::duration;
  return made;
}
Value Value::timestamp(std::int64_t seconds, std::uint32_t nanos, std::int16_t offset_minutes) {
  Value made = integer(seconds);
  made.kind_ = Kind::timestamp;
  made.size_ = nanos;
  made.extra_ = offset_minutes;
  return made;
}
Value Value::type(const Type& type) { return make(Kind::type, Form::owned, 0, &type); }
Value Value::host(const HostMap& map) { return make(Kind::map, Form::host, map.size(), &map); }
Value Value::error(const Fault& fault) { return make(Kind::error, Form::owned, 0, &fault); }

Value Value::json(const json::Value& value, Memory& memory, const Shape* shape) {
  if (shape) return shaped(value, memory, *shape);
  switch (value.type()) {
    case json::Type::null: return null();
    case json::Type::boolean: return boolean(value.is_true());
    case json::Type::number: return number(value);
    case json::Type::string: return string(value.text());
    case json::Type::array: return container(Kind::list, value, memory, nullptr);
    case json::Type::object: return container(Kind::map, value, memory, nullptr);
  }
  return null();
}

Value no_such_overload() { return Value::error(kNoSuchOverload); }
Value out_of_memory() { return Value::error(kNoMemory); }
Value out_of_budget() { return Value::error(kNoBudget); }

Value fail(Memory& memory, std::string_view message) {
  const Value text = copy_string(message, memory);
  auto* fault = memory.make<Fault>();
  if (!fault || text.is_error()) return out_of_memory();
  new (fault) Fault{Fault::Code::evaluation, text.text()};
  return Value::error(*fault);
}

Value copy_string(std::string_view text, Memory& memory) {
  if (text.empty()) return Value::string("");
  char* copy = text.size() > UINT32_MAX ? nullptr : memory.make<char>(text.size());
  if (!copy) return out_of_memory();
  std::memcpy(copy, text.data(), text.size());
  return Value::string({copy, text.size()});
}

Value copy_bytes(std::string_view bytes, Memory& memory) {
  const Value copy = copy_string(bytes, memory);
  return copy.is_error() ? copy : Value::bytes(copy.text());
}

Value make_optional(Value value, Memory& memory) {
  auto* slot = memory.make<Value>();
  if (!slot) return out_of_memory();
  new (slot) Value(value);
  return Value::make(Kind::optional, Value::Form::owned, 1, slot);
}
Value Value::optional(std::optional<Value> value, Memory& memory) {
  return value ? make_optional(*value, memory) : no_optional();
}
Value no_optional() { return Value::make(Kind::optional, Value::Form::owned, 0, nullptr); }
Value optional_value(Value optional) { return *static_cast<const Value*>(optional.pointer()); }

const api::Quantity& quantity_of(Value value) { return *static_cast<const api::Quantity*>(value.pointer()); }

}  // namespace koord::cel
