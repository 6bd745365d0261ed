// JSON as Go's encoding/json reads it into structs: see go_json.hpp.
#include "framework/config/go_json.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/api/values/time.hpp"
#include "koord/json/index.hpp"

namespace koord::manager {
namespace {

using api::Field;
using api::Schema;
using api::Type;
using api::TypeKind;
using json::Arena;
using json::Value;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool folds_to(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

const Field* field_of(const Schema& schema, std::string_view key) {
  if (const Field* exact = schema.find(key)) return exact;
  for (const Field& field : schema.fields())
    if (folds_to(field.name, key)) return &field;
  return nullptr;
}

std::string_view name_of(json::Type type) {
  switch (type) {
    case json::Type::null: return "null";
    case json::Type::boolean: return "a boolean";
    case json::Type::number: return "a number";
    case json::Type::string: return "a string";
    case json::Type::array: return "an array";
    case json::Type::object: return "an object";
  }
  return "";
}

class GoReader {
 public:
  explicit GoReader(Arena& arena) : arena_(arena) {}

  Result<Value> structure(const Value& in, const Schema& schema) {
    if (!in.is_object()) return wrong(in, "an object");
    Value out = Value::object();
    for (const json::Member& member : in.members()) {
      const Field* field = field_of(schema, member.key());
      if (field == nullptr) continue;
      const std::size_t here = path_.size();
      fmt::format_to(std::back_inserter(path_), ".{}", field->name);
      KOORD_TRY(value, read(member.value, *field->type));
      path_.resize(here);
      // A key that is there twice, in two cases: the later one is read over the earlier one.
      Value* before = json::find(out, field->name);
      if (before == nullptr) {
        out.append(field->name, std::move(value), arena_);
      } else if (before->is_object() && value.is_object() && is_structure(*field->type)) {
        merge_like_go(*before, value, structure_of(*field->type), arena_);
      } else {
        *before = std::move(value);
      }
    }
    return out;
  }

 private:
  static const Type& unwrapped(const Type& type) {
    return type.kind == TypeKind::optional ? *type.element : type;
  }
  static bool is_structure(const Type& type) { return unwrapped(type).kind == TypeKind::structure; }
  static const Schema& structure_of(const Type& type) { return unwrapped(type).schema(); }

  Error wrong(const Value& in, std::string_view expected) const {
    return Error(Code::parse, fmt::format("{}: {} where {} is expected", path_.empty() ? "." : path_,
                                          name_of(in.type()), expected));
  }

  Result<Value> read(const Value& in, const Type& type) {
    if (in.is_null()) return Value();
    switch (type.kind) {
      case TypeKind::optional: return read(in, *type.element);
      case TypeKind::structure: return structure(in, type.schema());
      case TypeKind::list: return list(in, *type.element);
      case TypeKind::map: return map(in, *type.element);
      default: return scalar(in, type);
    }
  }

  Result<Value> list(const Value& in, const Type& element) {
    if (!in.is_array()) return wrong(in, "an array");
    Value out = Value::array();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t here = path_.size();
      fmt::format_to(std::back_inserter(path_), "[{}]", i);
      KOORD_TRY(value, read(in[i], element));
      path_.resize(here);
      out.push_back(std::move(value), arena_);
    }
    return out;
  }

  Result<Value> map(const Value& in, const Type& element) {
    if (!in.is_object()) return wrong(in, "an object");
    Value out = Value::object();
    for (const json::Member& member : in.members()) {
      const std::size_t here = path_.size();
      fmt::format_to(std::back_inserter(path_), ".{}", member.key());
      KOORD_TRY(value, read(member.value, element));
      path_.resize(here);
      out.append(member.key(), std::move(value), arena_);  // the document has each key once
    }
    return out;
  }

  Result<Value> scalar(const Value& in, const Type& type) {
    switch (type.kind) {
      case TypeKind::boolean:
        if (!in.is_bool()) return wrong(in, "a boolean");
        break;
      case TypeKind::int32:
      case TypeKind::int64: {
        const auto number = in.to_int();
        if (!number) return wrong(in, in.is_number() ? "an integer of 64 bits" : "an integer");
        if (type.kind == TypeKind::int32 && (*number < INT32_MIN || *number > INT32_MAX))
          return wrong(in, "an integer of 32 bits");
        break;
      }
      case TypeKind::float64:
        if (!in.is_number()) return wrong(in, "a number");
        break;
      case TypeKind::string:
      case TypeKind::symbol:
        if (!in.is_string()) return wrong(in, "a string");
        break;
      case TypeKind::quantity:
        if (in.is_number()) break;
        if (!in.is_string() || !api::Quantity::parse(in.text())) return wrong(in, "a quantity");
        break;
      case TypeKind::duration:
        if (!in.is_string() || !api::Duration::parse(in.text())) return wrong(in, "a duration such as 5m");
        break;
      case TypeKind::int_or_string:
        if (!in.is_string() && !in.is_int()) return wrong(in, "an integer or a string");
        break;
      default: break;  // raw: any value; times do not occur in configuration
    }
    return json::clone(in, arena_);
  }

  Arena& arena_;
  std::string path_;
};

void merge(Value& onto, const Value& update, const Type& type, Arena& arena) {
  switch (type.kind) {
    case TypeKind::optional: return merge(onto, update, *type.element, arena);
    case TypeKind::structure:
      if (onto.is_object() && update.is_object()) return merge_like_go(onto, update, type.schema(), arena);
      break;
    case TypeKind::list:
      if (onto.is_array() && update.is_array()) {
        if (onto.size() > update.size()) onto.erase(update.size(), onto.size() - update.size());
        for (std::size_t i = 0; i < update.size(); ++i) {
          if (i < onto.size())
            merge(onto[i], update[i], *type.element, arena);
          else
            onto.push_back(json::clone(update[i], arena), arena);
        }
        return;
      }
      break;
    case TypeKind::map:
    case TypeKind::raw:
      if (onto.is_object() && update.is_object()) {
        return json::add_members(onto, update, true, arena);
      }
      break;
    default: break;
  }
  onto = json::clone(update, arena);
}

}  // namespace

Result<Value> read_like_go(const Value& in, const Schema& schema, Arena& arena) {
  return GoReader(arena).structure(in, schema);
}

const Value* find_like_go(const Value& object, std::string_view name) {
  if (const Value* exact = json::find(object, name)) return exact;
  for (const json::Member& member : object.members())
    if (folds_to(member.key(), name)) return &member.value;
  return nullptr;
}

void merge_like_go(Value& onto, const Value& update, const Schema& schema, Arena& arena) {
  for (const json::Member& member : update.members()) {
    const Field* field = schema.find(member.key());
    if (field == nullptr) continue;
    Value* before = json::find(onto, member.key());
    if (before == nullptr)
      onto.append(member.key(), json::clone(member.value, arena), arena);
    else
      merge(*before, member.value, *field->type, arena);
  }
}

}  // namespace koord::manager
