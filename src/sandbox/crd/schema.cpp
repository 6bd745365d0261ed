// Custom resources against their structural schemas; messages as kube-apiserver words them.
#include "sandbox/crd/schema.hpp"

#include <fmt/format.h>

#include <regex>

#include "koord/api/values/quantity.hpp"

namespace koord::sandbox {
namespace {

std::string child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

std::string_view type_name(const Json& value) {
  if (value.IsString()) return "string";
  if (value.IsBool()) return "boolean";
  if (value.IsObject()) return "object";
  if (value.IsArray()) return "array";
  if (value.IsInt64() || value.IsUint64()) return "integer";
  if (value.IsNumber()) return "number";
  return "null";
}

void prune_value(const Json& schema, Json& value) {
  if (value.IsArray()) {
    if (const Json* items = find(schema, "items"))
      for (auto& item : value.GetArray()) prune_value(*items, item);
    return;
  }
  if (!value.IsObject()) return;
  const Json* properties = find(schema, "properties");
  const Json* additional = find(schema, "additionalProperties");
  bool keep = true_at(schema, "x-kubernetes-preserve-unknown-fields");
  bool embedded = true_at(schema, "x-kubernetes-embedded-resource");
  for (auto it = value.MemberBegin(); it != value.MemberEnd();) {
    std::string_view name = view(it->name);
    const Json* known = properties ? find(*properties, name) : nullptr;
    if (known) {
      prune_value(*known, it->value);
    } else if (additional) {
      if (additional->IsObject()) prune_value(*additional, it->value);
    } else if (!keep && !(embedded && (name == "apiVersion" || name == "kind" || name == "metadata"))) {
      it = value.EraseMember(it);
      continue;
    }
    ++it;
  }
}

void fill_defaults(const Json& schema, Json& value, JsonAlloc& alloc) {
  if (value.IsArray()) {
    if (const Json* items = find(schema, "items"))
      for (auto& item : value.GetArray()) fill_defaults(*items, item, alloc);
    return;
  }
  if (!value.IsObject()) return;
  const Json* properties = find(schema, "properties");
  if (properties && properties->IsObject())
    for (const auto& property : properties->GetObject()) {
      Json* member = find(value, view(property.name));
      const Json* preset = find(property.value, "default");
      if (member && member->IsNull() && preset && !true_at(property.value, "nullable")) member = nullptr;
      if (!member && preset) member = &set(value, view(property.name), clone(*preset, alloc), alloc);
      if (member) fill_defaults(property.value, *member, alloc);
    }
  if (const Json* additional = find(schema, "additionalProperties"); additional && additional->IsObject())
    for (auto& member : value.GetObject())
      if (!properties || !find(*properties, view(member.name)))
        fill_defaults(*additional, member.value, alloc);
}

class Validator {
 public:
  explicit Validator(FieldErrors& errors) : errors_(errors) {}

  void check(const Json& schema, const Json& value, const std::string& path) {
    if (!schema.IsObject()) return;
    if (value.IsNull() && true_at(schema, "nullable")) return;
    if (true_at(schema, "x-kubernetes-int-or-string")) {
      if (!value.IsString() && !value.IsInt64()) wrong_type(path, value, "integer,string");
    } else if (std::string_view type = text_at(schema, "type"); !type.empty()) {
      std::string_view got = type_name(value);
      if (got != type && !(type == "number" && got == "integer")) return wrong_type(path, value, type);
    }
    check_enum(schema, value, path);
    if (value.IsNumber()) check_number(schema, value, path);
    if (value.IsString()) check_text(schema, value, path);
    if (value.IsArray()) check_list(schema, value, path);
    if (value.IsObject()) check_object(schema, value, path);
    if (const Json* all = find(schema, "allOf"); all && all->IsArray())
      for (const auto& each : all->GetArray()) check(each, value, path);
    if (const Json* any = find(schema, "anyOf"); any && any->IsArray() && count_valid(*any, value) == 0)
      errors_.invalid_raw(path, write_json(value),
                          fmt::format("{} in body must validate at least one schema (anyOf)", path));
    if (const Json* one = find(schema, "oneOf"); one && one->IsArray() && count_valid(*one, value) != 1)
      errors_.invalid_raw(path, write_json(value),
                          fmt::format("{} in body must validate one and only one schema (oneOf)", path));
    if (const Json* negative = find(schema, "not"); negative && valid(*negative, value))
      errors_.invalid_raw(path, write_json(value),
                          fmt::format("{} in body must not validate the schema (not)", path));
  }

 private:
  static bool valid(const Json& schema, const Json& value) {
    FieldErrors errors;
    Validator(errors).check(schema, value, "");
    return errors.empty();
  }
  static int count_valid(const Json& schemas, const Json& value) {
    int count = 0;
    for (const auto& schema : schemas.GetArray()) count += valid(schema, value);
    return count;
  }

  void wrong_type(const std::string& path, const Json& value, std::string_view type) {
    errors_.wrong_type(
        path, quote_json(type_name(value)),
        fmt::format("{} in body must be of type {}: {}", path, type, quote_json(type_name(value))));
  }

  void check_enum(const Json& schema, const Json& value, const std::string& path) {
    const Json* values = find(schema, "enum");
    if (!values || !values->IsArray()) return;
    std::vector<std::string_view> names;
    for (const auto& allowed : values->GetArray()) {
      if (same(&allowed, &value)) return;
      if (allowed.IsString()) names.push_back(view(allowed));
    }
    errors_.unsupported(path, value.IsString() ? std::string(view(value)) : write_json(value), names);
  }

  void check_number(const Json& schema, const Json& value, const std::string& path) {
    double number = value.GetDouble();
    if (const Json* minimum = find(schema, "minimum"); minimum && minimum->IsNumber()) {
      bool exclusive = true_at(schema, "exclusiveMinimum");
      if (number < minimum->GetDouble() || (exclusive && number == minimum->GetDouble()))
        errors_.invalid_raw(path, write_json(value),
                            fmt::format("{} in body should be greater than {}{}", path,
                                        exclusive ? "" : "or equal to ", write_json(*minimum)));
    }
    if (const Json* maximum = find(schema, "maximum"); maximum && maximum->IsNumber()) {
      bool exclusive = true_at(schema, "exclusiveMaximum");
      if (number > maximum->GetDouble() || (exclusive && number == maximum->GetDouble()))
        errors_.invalid_raw(path, write_json(value),
                            fmt::format("{} in body should be less than {}{}", path,
                                        exclusive ? "" : "or equal to ", write_json(*maximum)));
    }
  }

  void check_text(const Json& schema, const Json& value, const std::string& path) {
    std::string_view text = view(value);
    auto characters = static_cast<std::int64_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
    if (auto least = int_at(schema, "minLength"); least && characters < *least)
      errors_.invalid(path, text, fmt::format("{} in body should be at least {} chars long", path, *least));
    if (auto most = int_at(schema, "maxLength"); most && characters > *most)
      errors_.too_long(path, static_cast<std::size_t>(*most));
    std::string_view pattern = text_at(schema, "pattern");
    if (!pattern.empty() && !fits(pattern, text))
      errors_.invalid(path, text, fmt::format("{} in body should match '{}'", path, pattern));
  }

  // Quantities have one long pattern, which std::regex would work on for long.
  static bool fits(std::string_view pattern, std::string_view text) {
    if (pattern.starts_with("^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|"))
      return bool(api::Quantity::parse(text));
    if (text.size() > 4096) return true;  // std::regex recurses
    try {
      return std::regex_search(text.begin(), text.end(),
                               std::regex(pattern.begin(), pattern.end(), std::regex::ECMAScript));
    } catch (const std::regex_error&) {
      return true;  // a form that Go knows and ECMAScript does not
    }
  }

  void check_list(const Json& schema, const Json& value, const std::string& path) {
    if (auto least = int_at(schema, "minItems"); least && static_cast<std::int64_t>(value.Size()) < *least)
      errors_.invalid_raw(path, std::to_string(value.Size()),
                          fmt::format("{} in body should have at least {} items", path, *least));
    if (auto most = int_at(schema, "maxItems"); most && static_cast<std::int64_t>(value.Size()) > *most)
      errors_.invalid_raw(path, std::to_string(value.Size()),
                          fmt::format("{} in body should have at most {} items", path, *most));
    const Json* items = find(schema, "items");
    for (rapidjson::SizeType i = 0; items && i < value.Size(); ++i)
      check(*items, value[i], fmt::format("{}[{}]", path, i));
    std::string_view list_type = text_at(schema, "x-kubernetes-list-type");
    if (list_type != "set" && list_type != "map") return;
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i)
      for (rapidjson::SizeType j = 0; j < i; ++j)
        if (same_key(schema, list_type, value[i], value[j])) {
          errors_.duplicate(fmt::format("{}[{}]", path, i), write_json(value[i]));
          break;
        }
  }

  static bool same_key(const Json& schema, std::string_view list_type, const Json& a, const Json& b) {
    if (list_type == "set") return same(&a, &b);
    const Json* keys = find(schema, "x-kubernetes-list-map-keys");
    if (!keys || !keys->IsArray()) return false;
    for (const auto& key : keys->GetArray())
      if (!key.IsString() || !same(find(a, view(key)), find(b, view(key)))) return false;
    return true;
  }

  void check_object(const Json& schema, const Json& value, const std::string& path) {
    const Json* properties = find(schema, "properties");
    const Json* additional = find(schema, "additionalProperties");
    if (const Json* required = find(schema, "required"); required && required->IsArray())
      for (const auto& name : required->GetArray())
        if (name.IsString() && !find(value, view(name))) errors_.required(child(path, view(name)));
    if (auto least = int_at(schema, "minProperties");
        least && static_cast<std::int64_t>(value.MemberCount()) < *least)
      errors_.invalid_raw(path, std::to_string(value.MemberCount()),
                          fmt::format("{} in body should have at least {} properties", path, *least));
    if (auto most = int_at(schema, "maxProperties");
        most && static_cast<std::int64_t>(value.MemberCount()) > *most)
      errors_.invalid_raw(path, std::to_string(value.MemberCount()),
                          fmt::format("{} in body should have at most {} properties", path, *most));
    for (const auto& member : value.GetObject()) {
      std::string_view name = view(member.name);
      if (path.empty() && (name == "apiVersion" || name == "kind" || name == "metadata")) continue;
      const Json* known = properties ? find(*properties, name) : nullptr;
      if (known)
        check(*known, member.value, child(path, name));
      else if (additional && additional->IsObject())
        check(*additional, member.value, child(path, name));
    }
  }

  FieldErrors& errors_;
};

}  // namespace

CrdSchema::CrdSchema(const Json& schema) { schema_.CopyFrom(schema, schema_.GetAllocator()); }

void CrdSchema::prune(Json& object) const {
  if (!object.IsObject()) return;
  const Json* properties = find(schema_, "properties");
  bool keep = true_at(schema_, "x-kubernetes-preserve-unknown-fields");
  for (auto it = object.MemberBegin(); it != object.MemberEnd();) {
    std::string_view name = view(it->name);
    if (name != "apiVersion" && name != "kind" && name != "metadata") {
      const Json* known = properties ? find(*properties, name) : nullptr;
      if (known) {
        prune_value(*known, it->value);
      } else if (!keep) {
        it = object.EraseMember(it);
        continue;
      }
    }
    ++it;
  }
}

void CrdSchema::apply_defaults(Json& object, JsonAlloc& alloc) const {
  prune(object);
  fill_defaults(schema_, object, alloc);
}

void CrdSchema::validate(const Json& object, FieldErrors& errors) const {
  if (schema_.IsObject()) Validator(errors).check(schema_, object, "");
}

}  // namespace koord::sandbox
