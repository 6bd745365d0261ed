// The patch between two versions of a typed object.
#include <algorithm>
#include <optional>

#include "encode.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"
#include "scalar.hpp"

namespace koord::api {
namespace {

/// Writes the members of patch objects. Each function says whether it wrote anything; what it wrote ends
/// with a comma, which close() takes away.
class Differ {
 public:
  explicit Differ(bool strategic) : strategic_(strategic) {}

  bool structure(std::string& out, const Schema& schema, const void* a, const void* b) {
    bool changed = false;
    for (const Field& field : schema.fields()) {
      if (!field.has(Field::kImmutable))
        changed |= field_diff(out, field, field.name, *field.type, member(a, field), member(b, field));
    }
    return changed;
  }
  /// A list without merge key, or another value that is replaced whole, is part of the patch.
  bool needs_version() const { return needs_version_; }

  static void close(std::string& out) {
    if (out.back() == ',') out.pop_back();
    out.push_back('}');
  }

 private:
  static void name(std::string& out, std::string_view prefix, std::string_view key) {
    json::append_string(out, std::string(prefix) + std::string(key));
    out.push_back(':');
  }
  static bool put(std::string& out, std::string_view key, const Type& type, const void* value) {
    name(out, {}, key);
    write_value(out, type, value);
    out.push_back(',');
    return true;
  }
  static bool put_null(std::string& out, std::string_view key) {
    name(out, {}, key);
    out.append("null,");
    return true;
  }

  bool field_diff(std::string& out, const Field& field, std::string_view key, const Type& type, const void* a,
                  const void* b) {
    if (equal(a, b, type)) return false;
    const bool always = field.has(Field::kRequired) || field.has(Field::kAlways);
    switch (type.kind) {
      case TypeKind::optional:
        if (type.count(b) == 0) return put_null(out, key);
        if (type.count(a) == 0) return put(out, key, type, b);
        return value_diff(out, field, key, *type.element, type.at(a, 0), type.at(b, 0));
      case TypeKind::structure: return value_diff(out, field, key, type, a, b);
      case TypeKind::raw:
      case TypeKind::list:
      case TypeKind::map:
        if (is_empty(type, a)) return put(out, key, type, b);
        if (is_empty(type, b) && !always && type.kind != TypeKind::list) return put_null(out, key);
        return value_diff(out, field, key, type, a, b);
      default:
        if (is_empty(type, b) && !always) return put_null(out, key);
        return put(out, key, type, b);
    }
  }

  // Two values that differ.
  bool value_diff(std::string& out, const Field& field, std::string_view key, const Type& type, const void* a,
                  const void* b) {
    switch (type.kind) {
      case TypeKind::structure: {
        const size_t start = out.size();
        name(out, {}, key);
        out.push_back('{');
        if (!structure(out, type.schema(), a, b)) {
          out.resize(start);  // only immutable fields differ
          return false;
        }
        close(out);
        out.push_back(',');
        return true;
      }
      case TypeKind::map: return map_diff(out, field, key, type, a, b);
      case TypeKind::list: return list_diff(out, field, key, type, a, b);
      case TypeKind::raw:
        return raw_diff(out, key, *static_cast<const RawJson*>(a), *static_cast<const RawJson*>(b));
      default: return put(out, key, type, b);
    }
  }

  bool map_diff(std::string& out, const Field& field, std::string_view key, const Type& type, const void* a,
                const void* b) {
    name(out, {}, key);
    out.push_back('{');
    const size_t na = type.count(a), nb = type.count(b);
    for (size_t i = 0, j = 0; i < na || j < nb;) {  // both are sorted
      const std::string_view ka = i < na ? type.key_at(a, i) : std::string_view();
      const std::string_view kb = j < nb ? type.key_at(b, j) : std::string_view();
      if (j == nb || (i < na && ka < kb)) {
        put_null(out, ka);
        ++i;
      } else if (i == na || kb < ka) {
        put(out, kb, *type.element, type.at(b, j++));
      } else {
        if (!equal(type.at(a, i), type.at(b, j), *type.element))
          value_diff(out, field, kb, *type.element, type.at(a, i), type.at(b, j));
        ++i;
        ++j;
      }
    }
    close(out);
    out.push_back(',');
    return true;
  }

  bool raw_diff(std::string& out, std::string_view key, const RawJson& a, const RawJson& b) {
    const auto before = json::parse(a.text);
    auto after = json::parse(b.text);
    if (before && after && *before == *after) return false;
    name(out, {}, key);
    if (!before || !after || !before->is_object() || !after->is_object()) {
      out.append(b.text);
    } else if (strategic_) {
      // Its lists' merge keys are not known here, so it is replaced as a whole.
      out.append("{\"$patch\":\"replace\"");
      if (after->size() > 0) out.push_back(',');
      out.append(b.text, 1);
      needs_version_ = true;
    } else {
      json::append(out, *json::merge_diff(*before, *after, after->arena()));
      needs_version_ = true;  // it may contain a list
    }
    out.push_back(',');
    return true;
  }

  bool list_diff(std::string& out, const Field& field, std::string_view key, const Type& type, const void* a,
                 const void* b) {
    if (strategic_ && field.has(Field::kSetList)) return set_diff(out, key, type, a, b);
    if (strategic_ && !field.merge_key_name.empty()) return keyed_diff(out, field, key, type, a, b);
    needs_version_ = true;
    return put(out, key, type, b);
  }

  static std::vector<std::string> texts(const Type& type, const void* list, const Field* key_field) {
    std::vector<std::string> result(type.count(list));
    for (size_t i = 0; i < result.size(); ++i) {
      const void* element = type.at(list, i);
      if (key_field)
        write_value(result[i], *key_field->type, member(element, *key_field));
      else
        write_value(result[i], *type.element, element);
    }
    return result;
  }
  static bool has(const std::vector<std::string>& list, const std::string& text) {
    return std::ranges::find(list, text) != list.end();
  }
  static bool unique(std::vector<std::string> list) {
    std::ranges::sort(list);
    return std::ranges::adjacent_find(list) == list.end();
  }
  static void put_list(std::string& out, std::string_view prefix, std::string_view key,
                       const std::vector<std::string>& values) {
    name(out, prefix, key);
    out.push_back('[');
    for (const std::string& value : values) out.append(value).push_back(',');
    out.back() = ']';
    out.push_back(',');
  }

  bool set_diff(std::string& out, std::string_view key, const Type& type, const void* a, const void* b) {
    const auto before = texts(type, a, nullptr), after = texts(type, b, nullptr);
    std::vector<std::string> added, removed;
    std::ranges::copy_if(after, std::back_inserter(added), [&](const auto& v) { return !has(before, v); });
    std::ranges::copy_if(before, std::back_inserter(removed), [&](const auto& v) { return !has(after, v); });
    if (!removed.empty()) put_list(out, "$deleteFromPrimitiveList/", key, removed);
    if (!added.empty()) {
      put_list(out, "$setElementOrder/", key, after);  // else the server puts what is new first
      put_list(out, {}, key, added);
    }
    return !added.empty() || !removed.empty();
  }

  bool keyed_diff(std::string& out, const Field& field, std::string_view key, const Type& type, const void* a,
                  const void* b) {
    const Schema& element = type.element->schema();
    const Field& key_field = *element.find(field.merge_key_name);
    const auto before = texts(type, a, &key_field), after = texts(type, b, &key_field);
    if (!unique(before) || !unique(after)) return replace_list(out, key, type, b);

    std::vector<std::string> rows, expected, order;
    bool reordered = false;
    for (const std::string& k : before)
      if (has(after, k)) expected.push_back(k);
    for (size_t i = 0; i < after.size(); ++i) {
      const auto old = static_cast<size_t>(std::ranges::find(before, after[i]) - before.begin());
      std::string row;
      if (old == before.size()) {
        reordered = true;  // the server would choose its place
        write_value(row, *type.element, type.at(b, i));
        rows.push_back(std::move(row));
        continue;
      }
      order.push_back(after[i]);
      name(row, {}, field.merge_key_name);
      row.insert(0, 1, '{').append(after[i]).push_back(',');
      if (structure(row, element, type.at(a, old), type.at(b, i))) {
        close(row);
        rows.push_back(std::move(row));
      }
    }
    reordered |= order != expected;
    for (const std::string& k : before) {
      if (has(after, k)) continue;
      std::string row = "{\"$patch\":\"delete\",";
      name(row, {}, field.merge_key_name);
      rows.push_back(row.append(k).append("}"));
    }
    if (reordered) {
      std::vector<std::string> keys;
      for (const std::string& k : after) {
        std::string row = "{";
        name(row, {}, field.merge_key_name);
        keys.push_back(row.append(k).append("}"));
      }
      put_list(out, "$setElementOrder/", key, keys);
    }
    if (!rows.empty()) put_list(out, {}, key, rows);
    return reordered || !rows.empty();
  }

  // Keys that repeat identify nothing.
  bool replace_list(std::string& out, std::string_view key, const Type& type, const void* b) {
    std::vector<std::string> rows = texts(type, b, nullptr);
    rows.insert(rows.begin(), "{\"$patch\":\"replace\"}");
    put_list(out, {}, key, rows);
    needs_version_ = true;
    return true;
  }

  const bool strategic_;
  bool needs_version_ = false;
};

}  // namespace

std::optional<Patch> diff(const void* before, const void* after, const Schema& schema) {
  const bool custom = schema.kind() && schema.kind()->custom;
  Patch patch{custom ? PatchType::merge : PatchType::strategic, "{"};
  Differ differ(!custom);
  if (!differ.structure(patch.body, schema, before, after)) return std::nullopt;
  const Field* metadata = schema.find("metadata");
  if (differ.needs_version() && metadata && metadata->type == &type_of<ObjectMeta>) {
    const auto& version = static_cast<const ObjectMeta*>(member(before, *metadata))->resource_version;
    if (!version.empty()) {
      std::string text = "\"resourceVersion\":";
      json::append_string(text, version);
      // Tables start with the metadata, so that its changes, if there are any, come first.
      constexpr std::string_view kMetadata = "{\"metadata\":{";
      if (patch.body.starts_with(kMetadata))
        patch.body.insert(kMetadata.size(), text + ",");
      else
        patch.body.insert(1, "\"metadata\":{" + text + "},");
    }
  }
  Differ::close(patch.body);
  return patch;
}

}  // namespace koord::api
