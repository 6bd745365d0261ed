// The patch between two versions of a typed object.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "encode.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"
#include "scalar.hpp"

namespace koord::api {
namespace {

/// Writes the members of patch objects. Each function says whether it wrote anything.
class Differ {
 public:
  explicit Differ(bool strategic) : strategic_(strategic) {}

  bool structure(json::Writer& json, const Schema& schema, const void* a, const void* b) {
    bool changed = false;
    for (const Field& field : schema.fields()) {
      if (!field.has(Field::kImmutable))
        changed |= field_diff(json, field, field.name, *field.type, member(a, field), member(b, field));
    }
    return changed;
  }
  /// A list without merge key, or another value that is replaced whole, is part of the patch.
  bool needs_version() const { return needs_version_; }

 private:
  static bool put(json::Writer& json, std::string_view key, const Type& type, const void* value) {
    write_value(json.key(key), type, value);
    return true;
  }
  static bool put_null(json::Writer& json, std::string_view key) {
    json.key(key).null();
    return true;
  }

  bool field_diff(json::Writer& json, const Field& field, std::string_view key, const Type& type,
                  const void* a, const void* b) {
    if (equal(a, b, type)) return false;
    const bool always = field.has(Field::kRequired) || field.has(Field::kAlways);
    switch (type.kind) {
      case TypeKind::optional:
        if (type.count(b) == 0) return put_null(json, key);
        if (type.count(a) == 0) return put(json, key, type, b);
        return value_diff(json, field, key, *type.element, type.at(a, 0), type.at(b, 0));
      case TypeKind::structure: return value_diff(json, field, key, type, a, b);
      case TypeKind::raw:
      case TypeKind::list:
      case TypeKind::map:
        if (is_empty(type, a)) return put(json, key, type, b);
        if (is_empty(type, b) && !always && type.kind != TypeKind::list) return put_null(json, key);
        return value_diff(json, field, key, type, a, b);
      default:
        if (is_empty(type, b) && !always) return put_null(json, key);
        return put(json, key, type, b);
    }
  }

  // Two values that differ.
  bool value_diff(json::Writer& json, const Field& field, std::string_view key, const Type& type,
                  const void* a, const void* b) {
    switch (type.kind) {
      case TypeKind::structure: {
        const size_t start = json.size();
        json.key(key).begin_object();
        if (!structure(json, type.schema(), a, b)) {
          json.cut(start);  // only immutable fields differ
          return false;
        }
        json.end_object();
        return true;
      }
      case TypeKind::map: return map_diff(json, field, key, type, a, b);
      case TypeKind::list: return list_diff(json, field, key, type, a, b);
      case TypeKind::raw:
        return raw_diff(json, key, *static_cast<const RawJson*>(a), *static_cast<const RawJson*>(b));
      default: return put(json, key, type, b);
    }
  }

  bool map_diff(json::Writer& json, const Field& field, std::string_view key, const Type& type, const void* a,
                const void* b) {
    json.key(key).begin_object();
    const size_t na = type.count(a), nb = type.count(b);
    for (size_t i = 0, j = 0; i < na || j < nb;) {  // both are sorted
      const std::string_view ka = i < na ? type.key_at(a, i) : std::string_view();
      const std::string_view kb = j < nb ? type.key_at(b, j) : std::string_view();
      if (j == nb || (i < na && ka < kb)) {
        put_null(json, ka);
        ++i;
      } else if (i == na || kb < ka) {
        put(json, kb, *type.element, type.at(b, j++));
      } else {
        if (!equal(type.at(a, i), type.at(b, j), *type.element))
          value_diff(json, field, kb, *type.element, type.at(a, i), type.at(b, j));
        ++i;
        ++j;
      }
    }
    json.end_object();
    return true;
  }

  bool raw_diff(json::Writer& json, std::string_view key, const RawJson& a, const RawJson& b) {
    const auto before = json::parse(a.text);
    auto after = json::parse(b.text);
    if (before && after && *before == *after) return false;
    json.key(key);
    if (!before || !after || !before->is_object() || !after->is_object()) {
      json.raw(b.text);
    } else if (strategic_) {
      // Its lists' merge keys are not known here, so it is replaced as a whole.
      json.begin_object().member("$patch", "replace");
      for (const json::Member& member : after->members()) json.key(member.key()).value(member.value);
      json.end_object();
      needs_version_ = true;
    } else {
      json.value(*json::merge_diff(*before, *after, after->arena()));
      needs_version_ = true;  // it may contain a list
    }
    return true;
  }

  bool list_diff(json::Writer& json, const Field& field, std::string_view key, const Type& type,
                 const void* a, const void* b) {
    if (strategic_ && field.has(Field::kSetList)) return set_diff(json, key, type, a, b);
    if (strategic_ && !field.merge_key_name.empty()) return keyed_diff(json, field, key, type, a, b);
    needs_version_ = true;
    // As a PUT of the object would leave it: not there.
    if (type.count(b) == 0 && !field.has(Field::kRequired) && !field.has(Field::kAlways))
      return put_null(json, key);
    return put(json, key, type, b);
  }

  /// What a list's elements are told apart by: themselves or their keys, as JSON.
  static std::vector<std::string> texts(const Type& type, const void* list, const Field* key_field) {
    std::vector<std::string> result(type.count(list));
    for (size_t i = 0; i < result.size(); ++i) {
      json::Writer json(result[i]);
      const void* element = type.at(list, i);
      if (key_field)
        write_value(json, *key_field->type, member(element, *key_field));
      else
        write_value(json, *type.element, element);
    }
    return result;
  }
  /// The places of texts: the first, where one is there twice.
  using Places = std::map<std::string_view, size_t>;
  static Places places(const std::vector<std::string>& list) {
    Places result;
    for (size_t i = 0; i < list.size(); ++i) result.emplace(list[i], i);
    return result;
  }

  static void put_list(json::Writer& json, std::string_view prefix, std::string_view key,
                       const std::vector<std::string>& values) {
    json.key(fmt::format("{}{}", prefix, key)).begin_array();
    for (const std::string& value : values) json.raw(value);
    json.end_array();
  }

  bool set_diff(json::Writer& json, std::string_view key, const Type& type, const void* a, const void* b) {
    const auto before = texts(type, a, nullptr), after = texts(type, b, nullptr);
    const Places old = places(before), now = places(after);
    std::vector<std::string> added, removed;
    std::ranges::copy_if(after, std::back_inserter(added), [&](const auto& v) { return !old.contains(v); });
    std::ranges::copy_if(before, std::back_inserter(removed),
                         [&](const auto& v) { return !now.contains(v); });
    if (!removed.empty()) put_list(json, "$deleteFromPrimitiveList/", key, removed);
    if (!added.empty()) {
      put_list(json, "$setElementOrder/", key, after);  // else the server puts what is new first
      put_list(json, {}, key, added);
    }
    return !added.empty() || !removed.empty();
  }

  bool keyed_diff(json::Writer& json, const Field& field, std::string_view key, const Type& type,
                  const void* a, const void* b) {
    const Schema& element = type.element->schema();
    const Field& key_field = *element.find(field.merge_key_name);
    const auto before = texts(type, a, &key_field), after = texts(type, b, &key_field);
    const Places old = places(before), now = places(after);
    if (old.size() != before.size() || now.size() != after.size()) return replace_list(json, key, type, b);

    std::vector<std::string> rows;
    std::vector<std::string_view> expected, order;
    bool reordered = false;
    for (const std::string& k : before)
      if (now.contains(k)) expected.push_back(k);
    for (size_t i = 0; i < after.size(); ++i) {
      std::string text;
      json::Writer row(text);
      const auto was = old.find(after[i]);
      if (was == old.end()) {
        reordered = true;  // the server would choose its place
        write_value(row, *type.element, type.at(b, i));
        rows.push_back(std::move(text));
        continue;
      }
      order.push_back(after[i]);
      row.begin_object().key(field.merge_key_name).raw(after[i]);
      if (structure(row, element, type.at(a, was->second), type.at(b, i))) {
        row.end_object();
        rows.push_back(std::move(text));
      }
    }
    reordered |= order != expected;
    for (const std::string& k : before) {
      if (now.contains(k)) continue;
      json::Writer row(rows.emplace_back());
      row.begin_object().member("$patch", "delete").key(field.merge_key_name).raw(k).end_object();
    }
    if (reordered) {
      std::vector<std::string> keys;
      for (const std::string& k : after)
        json::Writer(keys.emplace_back()).begin_object().key(field.merge_key_name).raw(k).end_object();
      put_list(json, "$setElementOrder/", key, keys);
    }
    if (!rows.empty()) put_list(json, {}, key, rows);
    return reordered || !rows.empty();
  }

  // Keys that repeat identify nothing.
  bool replace_list(json::Writer& json, std::string_view key, const Type& type, const void* b) {
    json.key(key).begin_array();
    json.begin_object().member("$patch", "replace").end_object();
    for (const std::string& row : texts(type, b, nullptr)) json.raw(row);
    json.end_array();
    needs_version_ = true;
    return true;
  }

  const bool strategic_;
  bool needs_version_ = false;
};

// metadata.resourceVersion; empty for what has none.
std::string resource_version(const void* object, const Schema& schema) {
  const Field* metadata = schema.find("metadata");
  if (!metadata || metadata->type->kind != TypeKind::structure) return {};
  const Field* version = metadata->type->schema().find("resourceVersion");
  if (!version || version->type->kind != TypeKind::string) return {};
  return *static_cast<const std::string*>(member(member(object, *metadata), *version));
}

}  // namespace

std::optional<Patch> diff(const void* before, const void* after, const Schema& schema) {
  const bool custom = schema.kind() && schema.kind()->custom;
  Patch patch{custom ? PatchType::merge : PatchType::strategic, {}};
  Differ differ(!custom);
  json::Writer json(patch.body);
  json.begin_object();
  if (!differ.structure(json, schema, before, after)) return std::nullopt;
  json.end_object();
  const std::string version = differ.needs_version() ? resource_version(before, schema) : "";
  if (version.empty()) return patch;
  return std::move(patch).with_precondition({.resource_version = version});
}

}  // namespace koord::api
