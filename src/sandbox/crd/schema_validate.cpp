// Custom resources against their schemas; messages as kube-apiserver words them.
#include <fmt/format.h>

#include <algorithm>
#include <compare>

#include "koord/json/index.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

std::string_view type_name(const json::Value& value) {
  switch (value.type()) {
    case json::Type::string: return "string";
    case json::Type::boolean: return "boolean";
    case json::Type::object: return "object";
    case json::Type::array: return "array";
    case json::Type::number: return value.to_int() || value.to_uint() ? "integer" : "number";
    case json::Type::null: return "null";
  }
  return "null";
}

bool by_value(const json::Value* a, const json::Value* b) { return std::is_lt(json::compare(*a, *b)); }

class Validator {
 public:
  /// Without `errors` it stops at the first one.
  Validator(StatusCauses* errors, std::size_t& steps) : errors_(errors), steps_(steps) {}

  bool check(const SchemaNode& schema, const json::Value& value, const FieldPath& path) {
    if (!spend(1)) return false;
    if (value.is_null() && schema.nullable) return true;
    bool good = true;
    if (schema.int_or_string) {
      if (!value.is_string() && !value.is_int()) good = wrong_type(path, value, "integer,string");
    } else if (schema.type != SchemaNode::Type::any) {
      const std::string_view got = type_name(value), wanted = name_of(schema.type);
      if (got != wanted && !(wanted == "number" && got == "integer")) return wrong_type(path, value, wanted);
    }
    if (schema.rules) good = check_rules(*schema.rules, value, path) && good;
    if (goes_on(good) && value.is_array()) good = check_list(schema, value, path) && good;
    if (goes_on(good) && value.is_object()) good = check_object(schema, value, path) && good;
    if (goes_on(good) && schema.rules) good = check_junctions(*schema.rules, value, path) && good;
    return good;
  }

 private:
  bool goes_on(bool good) const { return good || errors_; }

  bool spend(std::size_t steps) {
    if (steps_ < steps) return steps_ = 0, false;
    steps_ -= steps;
    return true;
  }

  /// `add` adds an error; its texts are only made for those that are shown.
  template <class Add>
  bool add_errors(const Add& add) {
    if (errors_ && !errors_->skip()) add(*errors_);
    return false;
  }
  bool complain_raw(const FieldPath& path, const json::Value& value, std::string_view what) {
    return add_errors([&](StatusCauses& errors) {
      const std::string at = path.text();
      errors.invalid_raw(at, json::to_text(value), fmt::format("{} in body {}", at, what));
    });
  }
  bool wrong_type(const FieldPath& path, const json::Value& value, std::string_view type) {
    return add_errors([&](StatusCauses& errors) {
      const std::string at = path.text(), got = fmt::format("\"{}\"", type_name(value));
      errors.wrong_type(at, got, fmt::format("{} in body must be of type {}: {}", at, type, got));
    });
  }

  bool check_rules(const SchemaRules& rules, const json::Value& value, const FieldPath& path) {
    bool good = true;
    if (rules.enumeration &&
        !std::binary_search(rules.allowed.begin(), rules.allowed.end(), &value, by_value))
      good = add_errors([&](StatusCauses& errors) {
        std::vector<std::string_view> names;
        for (const json::Value& allowed : rules.enumeration->elements())
          if (allowed.is_string()) names.push_back(allowed.text());
        errors.unsupported(path.text(), value.is_string() ? std::string(value.text()) : json::to_text(value),
                           names);
      });
    if (value.is_number()) good = check_number(rules, value, path) && good;
    if (value.is_string()) good = check_text(rules, value, path) && good;
    return good;
  }

  bool check_junctions(const SchemaRules& rules, const json::Value& value, const FieldPath& path) {
    bool good = true;
    for (const SchemaNode& each : rules.all_of)
      if (goes_on(good)) good = check(each, value, path) && good;
    // Without steps nothing fits, which says nothing.
    if (!rules.any_of.empty() && goes_on(good) && !fits_any(rules.any_of, value, path) && steps_ > 0)
      good = complain_raw(path, value, "must validate at least one schema (anyOf)");
    if (!rules.one_of.empty() && goes_on(good) && !fits_one(rules.one_of, value, path) && steps_ > 0)
      good = complain_raw(path, value, "must validate one and only one schema (oneOf)");
    if (rules.negative && goes_on(good) && fits(*rules.negative, value, path))
      good = complain_raw(path, value, "must not validate the schema (not)");
    return good;
  }
  bool fits(const SchemaNode& schema, const json::Value& value, const FieldPath& path) {
    return Validator(nullptr, steps_).check(schema, value, path);
  }
  bool fits_any(const std::vector<SchemaNode>& schemas, const json::Value& value, const FieldPath& path) {
    return std::any_of(schemas.begin(), schemas.end(),
                       [&](const SchemaNode& schema) { return fits(schema, value, path); });
  }
  bool fits_one(const std::vector<SchemaNode>& schemas, const json::Value& value, const FieldPath& path) {
    return std::count_if(schemas.begin(), schemas.end(),
                         [&](const SchemaNode& schema) { return fits(schema, value, path); }) == 1;
  }

  bool check_number(const SchemaRules& rules, const json::Value& value, const FieldPath& path) {
    const auto bound = [&](const json::Value* limit, bool exclusive, bool least) {
      if (!limit) return true;
      const auto order = json::compare(value, *limit);
      if ((least ? std::is_gt(order) : std::is_lt(order)) || (!exclusive && std::is_eq(order))) return true;
      return add_errors([&](StatusCauses& errors) {
        const std::string at = path.text();
        errors.invalid_raw(at, json::to_text(value),
                           fmt::format("{} in body should be {} than {}{}", at, least ? "greater" : "less",
                                       exclusive ? "" : "or equal to ", json::to_text(*limit)));
      });
    };
    const bool least = bound(rules.minimum, rules.exclusive_minimum, true);
    return bound(rules.maximum, rules.exclusive_maximum, false) && least;
  }

  bool check_text(const SchemaRules& rules, const json::Value& value, const FieldPath& path) {
    const std::string_view text = value.text();
    bool good = true;
    const auto wrong = [&](std::string_view what, const auto& bound) {
      return add_errors([&](StatusCauses& errors) {
        const std::string at = path.text();
        errors.invalid(at, text, fmt::format("{} in body {}", at, fmt::format(fmt::runtime(what), bound)));
      });
    };
    if (rules.min_length || rules.max_length) {
      const auto characters = static_cast<std::int64_t>(
          std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
      if (rules.min_length && characters < *rules.min_length)
        good = wrong("should be at least {} chars long", *rules.min_length);
      if (rules.max_length && characters > *rules.max_length)
        good = add_errors([&](StatusCauses& errors) {
          errors.too_long(path.text(), static_cast<std::size_t>(*rules.max_length));
        });
    }
    if (!rules.pattern) return good;
    if (!spend(text.size() * rules.pattern->size() / kBytesPerStep)) return false;
    if (!rules.pattern->found_in(text)) good = wrong("should match '{}'", rules.pattern->text());
    return good;
  }

  bool check_count(const std::optional<std::int64_t>& least, const std::optional<std::int64_t>& most,
                   std::size_t size, std::string_view what, const FieldPath& path) {
    const auto count = static_cast<std::int64_t>(size);
    const bool few = least && count < *least, many = most && count > *most;
    if (!few && !many) return true;
    return add_errors([&](StatusCauses& errors) {
      const std::string at = path.text();
      errors.invalid_raw(at, fmt::to_string(count),
                         fmt::format("{} in body should have at {} {} {}", at, few ? "least" : "most",
                                     few ? *least : *most, what));
    });
  }

  bool check_list(const SchemaNode& schema, const json::Value& value, const FieldPath& path) {
    bool good = true;
    if (schema.rules)
      good = check_count(schema.rules->min_items, schema.rules->max_items, value.size(), "items", path);
    if (schema.items)
      for (std::size_t i = 0; i < value.size() && goes_on(good); ++i)
        good = check(*schema.items, value[i], path.at(i)) && good;
    if (schema.list_type != SchemaNode::ListType::atomic && goes_on(good))
      good = check_unique(schema, value, path) && good;
    return good;
  }

  // Equal elements of a set, equal keys of a map: all but the first.
  bool check_unique(const SchemaNode& schema, const json::Value& value, const FieldPath& path) {
    const bool map = schema.list_type == SchemaNode::ListType::map;
    if (map && schema.map_keys.empty()) return true;
    static const json::Value kNull;
    const std::size_t keys = map ? schema.map_keys.size() : 1;
    if (!spend(value.size() * keys)) return false;
    std::vector<const json::Value*> parts;  // of each element, in turn
    parts.reserve(value.size() * keys);
    for (const json::Value& item : value.elements()) {
      if (!map) {
        parts.push_back(&item);
        continue;
      }
      const json::Members members(item);
      for (const std::string_view key : schema.map_keys) {
        const json::Value* part = members.find(key);
        parts.push_back(part ? part : &kNull);
      }
    }
    const auto order = [&](std::size_t a, std::size_t b) {
      for (std::size_t i = 0; i < keys; ++i)
        if (const auto compared = json::compare(*parts[a * keys + i], *parts[b * keys + i]);
            std::is_neq(compared))
          return compared;
      return std::weak_ordering::equivalent;
    };
    std::vector<std::size_t> sorted(value.size()), again;
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::size_t a, std::size_t b) { return std::is_lt(order(a, b)); });
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (std::is_eq(order(sorted[i - 1], sorted[i]))) again.push_back(sorted[i]);
    std::sort(again.begin(), again.end());
    for (const std::size_t i : again)
      add_errors([&](StatusCauses& errors) { errors.duplicate(path.at(i).text(), json::to_text(value[i])); });
    return again.empty();
  }

  bool check_object(const SchemaNode& schema, const json::Value& value, const FieldPath& path) {
    bool good = true;
    if (schema.rules) {
      const SchemaRules& rules = *schema.rules;
      if (!rules.required.empty()) {
        if (!spend(rules.required.size())) return false;
        const json::Members members(value);
        for (const std::string_view name : rules.required)
          if (!members.find(name))
            good = add_errors([&](StatusCauses& errors) { errors.required(path.field(name).text()); });
      }
      good =
          check_count(rules.min_properties, rules.max_properties, value.size(), "properties", path) && good;
    }
    if (schema.properties.empty() && !schema.additional) return good;
    for (const json::Member& member : value.members()) {
      if (!goes_on(good)) return false;
      const std::string_view name = member.key();
      if (path.is_root() && (name == "apiVersion" || name == "kind" || name == "metadata")) continue;
      if (const SchemaNode* known = schema.member(name))
        good = check(*known, member.value, path.field(name)) && good;
    }
    return good;
  }

  // As many bytes against as many instructions as take the time of a step.
  static constexpr std::size_t kBytesPerStep = 64;
  StatusCauses* errors_;
  std::size_t& steps_;
};

}  // namespace

void CrdSchema::validate(const json::Value& object, const json::Value* old, StatusCauses& errors) const {
  std::size_t steps = kMaxSteps;
  Validator(&errors, steps).check(root_, object, FieldPath());
  if (steps == 0)
    errors.forbidden("spec", fmt::format("validation by the schema takes more than {} steps", kMaxSteps));
  if (rules_) rules_->validate(object, old, errors);
}

}  // namespace koord::sandbox
