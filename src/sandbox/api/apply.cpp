// Server-side apply on raw documents, with the field sets of managedFields (FieldsV1).
#include "sandbox/api/apply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "koord/api/kinds/patch.hpp"
#include "koord/json/index.hpp"
#include "koord/json/writer.hpp"
#include "koord/json/yaml.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

/// How a list is identified: by keys, by value, or as a whole.
struct ListForm {
  bool by_value = false;
  std::vector<std::string_view> keys;
  bool atomic() const { return !by_value && keys.empty(); }
};

/// Where the walk is: names without indexes, and the schema of a custom kind if it describes the place.
struct Place {
  FieldPath path;
  const SchemaNode* schema = nullptr;

  Place member(std::string_view name) const {
    return {path.field(name), schema ? schema->member(name) : nullptr};
  }
  Place item() const { return {path, schema ? schema->items.get() : nullptr}; }
};

/// One configuration against one object. n log n in both, whatever the names.
class Applier {
 public:
  Applier(const Kind& kind, json::Arena& arena) : kind_(kind), arena_(arena) {}

  Place root() const { return {FieldPath(), kind_.schema ? &kind_.schema->root() : nullptr}; }

  /// The set of fields that a configuration has.
  json::Value fields_of(const json::Value& value, const Place& place) {
    json::Value fields = json::Value::object();
    for (const json::Member& member : value.members())
      fields.append(fmt::format("f:{}", member.key()), fields_of(member.value, place.member(member.key())),
                    arena_);
    if (!value.is_array()) return fields;
    const ListForm form = form_of(place);
    if (form.atomic()) return fields;
    for (const auto& [name, index] : by_name(form, value)) {
      json::Value inner = form.by_value ? json::Value::object() : fields_of(value[index], place.item());
      if (!form.by_value) inner.append(".", json::Value::object(), arena_);
      fields.append(name, std::move(inner), arena_);
    }
    return fields;
  }

  /// Takes out of `live` what `before` has and neither `after` nor another manager.
  void drop(json::Value& live, const json::Value& before, const json::Value* after,
            const std::vector<const json::Value*>& others, const Place& place) {
    static const json::Value kNone;
    const json::Members still_there(after ? *after : kNone);
    const Claims claims(others);
    if (live.is_array()) return drop_items(live, before, still_there, claims, place);
    const json::Members members(live);
    std::set<std::string_view> doomed;
    for (const json::Member& entry : before.members()) {
      if (!entry.key().starts_with("f:")) continue;
      const std::string_view name = entry.key().substr(2);
      json::Value* value = members.find(name);
      if (!value) continue;
      const json::Value* still = still_there.find(entry.key());
      const std::vector<const json::Value*> inner = claims.of(entry.key());
      const bool leaf = entry.value.empty();
      if (!leaf) drop(*value, entry.value, still, inner, place.member(name));
      if (!still && inner.empty() && (leaf || is_empty(value))) doomed.insert(name);
    }
    if (!doomed.empty())
      live.erase_if([&](const json::Member& member) { return doomed.contains(member.key()); });
  }

  void merge(json::Value& live, const json::Value& applied, const Place& place) {
    if (applied.is_object() && live.is_object()) {
      const json::Members members(live);
      std::vector<const json::Member*> added;
      for (const json::Member& member : applied.members()) {
        if (json::Value* old = members.find(member.key()))
          merge(*old, member.value, place.member(member.key()));
        else
          added.push_back(&member);
      }
      for (const json::Member* member : added)
        live.append(member->key(), clone(member->value, arena_), arena_);
      return;
    }
    const ListForm form = applied.is_array() && live.is_array() ? form_of(place) : ListForm();
    if (form.atomic()) {
      live = clone(applied, arena_);
      return;
    }
    auto known = by_name(form, live);
    for (const json::Value& item : applied.elements()) {
      const auto [at, added] = known.try_emplace(item_name(form, item), live.size());
      if (added)
        live.push_back(clone(item, arena_), arena_);
      else if (!form.by_value)
        merge(live[at->second], item, place.item());
    }
  }

 private:
  /// What other managers have, by name.
  class Claims {
   public:
    explicit Claims(const std::vector<const json::Value*>& sets) {
      for (const json::Value* set : sets)
        for (const json::Member& member : set->members()) claims_.emplace_back(member.key(), &member.value);
      std::stable_sort(claims_.begin(), claims_.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    std::vector<const json::Value*> of(std::string_view name) const {
      std::vector<const json::Value*> out;
      auto it = std::lower_bound(claims_.begin(), claims_.end(), name,
                                 [](const auto& claim, std::string_view key) { return claim.first < key; });
      for (; it != claims_.end() && it->first == name; ++it) out.push_back(it->second);
      return out;
    }

   private:
    std::vector<std::pair<std::string_view, const json::Value*>> claims_;
  };

  void drop_items(json::Value& live, const json::Value& before,
                  const json::Members<const json::Value>& still_there, const Claims& claims,
                  const Place& place) {
    const ListForm form = form_of(place);
    if (form.atomic()) return;
    const auto items = by_name(form, live);
    std::set<std::size_t> doomed;
    for (const json::Member& entry : before.members()) {
      const auto item = items.find(entry.key());
      if (item == items.end()) continue;
      const json::Value* still = still_there.find(entry.key());
      const std::vector<const json::Value*> inner = claims.of(entry.key());
      if (!still && inner.empty())
        doomed.insert(item->second);
      else
        drop(live[item->second], entry.value, still, inner, place.item());
    }
    std::size_t index = 0;
    if (!doomed.empty()) live.erase_if([&](const json::Value&) { return doomed.contains(index++); });
  }

  ListForm form_of(const Place& place) const {
    // No rule is longer, whatever a field is called.
    constexpr std::size_t kLongestPath = 256;
    ListForm form;
    const std::string path = place.path.length() < kLongestPath ? place.path.text() : "";
    if (path == "metadata.ownerReferences") {
      form.keys = {"uid"};
    } else if (path == "metadata.finalizers") {
      form.by_value = true;
    } else if (place.schema) {
      form.by_value = place.schema->list_type == SchemaNode::ListType::set;
      if (place.schema->list_type == SchemaNode::ListType::map) form.keys = place.schema->map_keys;
    } else if (!kind_.custom) {
      const api::ListRule rule = api::list_rule(kind_.group, kind_.kind, path);
      form.by_value = rule.merge == api::ListRule::Merge::set;
      if (rule.merge == api::ListRule::Merge::by_key) form.keys = {rule.key};
    }
    return form;
  }

  static std::string item_name(const ListForm& form, const json::Value& item) {
    if (form.by_value) return fmt::format("v:{}", json::to_text(item));
    std::string keys = "k:";
    json::Writer writer(keys);
    writer.begin_object();
    for (const std::string_view key : form.keys) {
      const json::Value* value = find(item, key);
      value ? writer.member(key, *value) : writer.key(key).null();
    }
    writer.end_object();
    return keys;
  }

  /// The items' places in the list; of equal names the last.
  static std::map<std::string, std::size_t, std::less<>> by_name(const ListForm& form,
                                                                 const json::Value& list) {
    std::map<std::string, std::size_t, std::less<>> names;
    for (std::size_t i = 0; i < list.size(); ++i) names.insert_or_assign(item_name(form, list[i]), i);
    return names;
  }

  const Kind& kind_;
  json::Arena& arena_;
};

// Fields that identify the object belong to nobody.
void strip_identity(json::Value& config) {
  json::remove(config, "apiVersion");
  json::remove(config, "kind");
  if (json::Value* meta = find(config, "metadata"); meta && meta->is_object()) {
    for (const char* field : {"name", "namespace", "managedFields", "resourceVersion", "uid",
                              "creationTimestamp", "generation", "selfLink"})
      json::remove(*meta, field);
    if (meta->empty()) json::remove(config, "metadata");
  }
}

void record_manager(json::Value& doc, const Kind& kind, std::string_view manager,
                    std::string_view subresource, json::Value&& fields, const std::string& now,
                    json::Arena& arena) {
  json::Value& list = array_at(*find(doc, "metadata"), "managedFields", arena);
  json::Value* mine = nullptr;
  for (auto& entry : list.elements())
    if (text_at(entry, "manager") == manager && text_at(entry, "operation") == "Apply" &&
        text_at(entry, "subresource") == subresource)
      mine = &entry;
  if (mine && same(find(*mine, "fieldsV1"), &fields)) return;
  if (!mine) {
    list.push_back(json::Value::object(), arena);
    mine = &list[list.size() - 1];
  }
  mine->set_object();
  set_text(*mine, "manager", manager, arena);
  set(*mine, "operation", json::make_const("Apply"), arena);
  set_text(*mine, "apiVersion", kind.api_version(), arena);
  set_text(*mine, "time", now, arena);
  set(*mine, "fieldsType", json::make_const("FieldsV1"), arena);
  set(*mine, "fieldsV1", std::move(fields), arena);
  if (!subresource.empty()) set_text(*mine, "subresource", subresource, arena);
}

/// It becomes a part of the object: UTF-8, printable, of bounded length.
void validate_manager(const std::string& manager, StatusCauses& errors) {
  constexpr std::size_t kMaxManager = 128;
  if (manager.size() > kMaxManager) errors.too_long("fieldManager", kMaxManager);
  if (json::quote(manager).find("\xef\xbf\xbd") != std::string::npos)
    return errors.invalid("fieldManager", "", "must be UTF-8");
  for (std::size_t i = 0; i < manager.size(); ++i)
    if (const auto c = static_cast<unsigned char>(manager[i]); c < 0x20 || c == 0x7f)
      return errors.invalid("fieldManager", manager,
                            fmt::format("invalid character U+{:04X} (at position {})", c, i));
}

}  // namespace

Outcome<Applied> apply_object(Verbs& verbs, const Kind& kind, std::string_view ns, std::string_view name,
                              std::string_view subresource, const net::Request& request,
                              const WriteOptions& options) {
  std::string manager(request.query_get("fieldManager"));
  StatusCauses errors;
  if (manager.empty())
    errors.required("fieldManager", "is required for apply patch");
  else
    validate_manager(manager, errors);
  if (!errors.empty()) return errors.failure("meta.k8s.io", "PatchOptions", "");
  json::Document config;
  if (!config.read(request.body)) {
    auto text = json::yaml_to_json(request.body);
    if (!text) return bad_request(fmt::format("error decoding YAML: line {}", text.error().message()));
    if (auto read = config.read(*text); !read)
      return bad_request(fmt::format("error decoding YAML: {}", read.error().message()));
  }
  if (!config.is_object()) return bad_request("the configuration is no object");
  if (text_at(config, "kind") != kind.kind || text_at(config, "apiVersion") != kind.api_version())
    return bad_request(fmt::format("invalid object type: /{}, Kind={}", text_at(config, "apiVersion"),
                                   text_at(config, "kind")));
  if (find(config, "metadata", "managedFields") && !is_empty(find(config, "metadata", "managedFields")))
    return bad_request("metadata.managedFields must be nil");
  json::Arena& arena = config.arena();
  json::Value& meta = object_at(config, "metadata", arena);
  if (text_at(meta, "name").empty()) set_text(meta, "name", name, arena);
  if (text_at(meta, "name") != name)
    return bad_request("the name of the object does not match the name on the URL");

  if (!kind.objects->get(ns, name)) {
    if (!subresource.empty()) return not_found(kind.named(), name);
    Applier applier(kind, arena);
    json::Value wanted = clone(config, arena);
    strip_identity(wanted);
    record_manager(config, kind, manager, subresource, applier.fields_of(wanted, applier.root()),
                   verbs.now_text(), arena);
    auto created = verbs.create(kind, ns, config, options);
    if (!created) return std::move(created).error();
    return Applied{*created, true};
  }
  std::string version(text_at(meta, "resourceVersion"));
  strip_identity(config);
  auto edit = [&](json::Document& doc) -> Outcome<void> {
    json::Arena& doc_arena = doc.arena();
    Applier applier(kind, doc_arena);
    json::Value fields = applier.fields_of(config, applier.root());
    json::Value before;
    std::vector<json::Value> others;
    if (const json::Value* managers = find(doc, "metadata", "managedFields");
        managers && managers->is_array())
      for (const auto& entry : managers->elements()) {
        const json::Value* set_of = find(entry, "fieldsV1");
        if (!set_of || !set_of->is_object()) continue;
        bool mine = text_at(entry, "manager") == manager && text_at(entry, "operation") == "Apply" &&
                    text_at(entry, "subresource") == subresource;
        if (mine)
          before = clone(*set_of, doc_arena);
        else
          others.push_back(clone(*set_of, doc_arena));
      }
    std::vector<const json::Value*> theirs;
    theirs.reserve(others.size());
    for (const json::Value& other : others) theirs.push_back(&other);
    if (before.is_object()) applier.drop(doc, before, &fields, theirs, applier.root());
    applier.merge(doc, config, applier.root());
    if (!version.empty()) set_text(*find(doc, "metadata"), "resourceVersion", version, doc_arena);
    record_manager(doc, kind, manager, subresource, std::move(fields), verbs.now_text(), doc_arena);
    return {};
  };
  auto written = verbs.modify(kind, ns, name, subresource, edit, options);
  if (!written) return std::move(written).error();
  return Applied{*written, false};
}

}  // namespace koord::sandbox
