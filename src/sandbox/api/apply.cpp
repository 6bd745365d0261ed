// Server-side apply on raw documents, with the field sets of managedFields (FieldsV1).
#include "sandbox/api/apply.hpp"

#include <fmt/format.h>

#include "koord/api/schema/document.hpp"
#include "koord/json/yaml.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

/// How the list at a path is identified: by keys, by value, or as a whole.
struct ListForm {
  bool by_value = false;
  std::vector<std::string> keys;
  bool atomic() const { return !by_value && keys.empty(); }
};

class Applier {
 public:
  Applier(const Kind& kind, JsonAlloc& alloc) : kind_(kind), alloc_(alloc) {}

  /// The set of fields that a configuration has.
  Json fields_of(const Json& value, const std::string& path) {
    Json set_of(rapidjson::kObjectType);
    if (value.IsObject()) {
      for (const auto& member : value.GetObject()) {
        std::string_view name = view(member.name);
        set(set_of, "f:" + std::string(name), fields_of(member.value, join(path, name)), alloc_);
      }
    } else if (value.IsArray()) {
      ListForm form = form_of(path);
      if (form.atomic()) return set_of;
      for (const auto& item : value.GetArray()) {
        Json inner = form.by_value ? Json(rapidjson::kObjectType) : fields_of(item, path);
        if (!form.by_value) set(inner, ".", Json(rapidjson::kObjectType), alloc_);
        set(set_of, item_name(form, item), std::move(inner), alloc_);
      }
    }
    return set_of;
  }

  /// Takes out of `live` what `before` has and neither `after` nor another manager.
  void drop(Json& live, const Json& before, const Json* after, const std::vector<const Json*>& others,
            const std::string& path) {
    for (const auto& entry : before.GetObject()) {
      std::string_view name = view(entry.name);
      if (name == ".") continue;
      const Json* still = after ? find(*after, name) : nullptr;
      std::vector<const Json*> inner;
      for (const Json* other : others)
        if (const Json* theirs = find(*other, name)) inner.push_back(theirs);
      if (name.starts_with("f:")) {
        std::string_view field = name.substr(2);
        Json* value = find(live, field);
        if (!value) continue;
        bool leaf = entry.value.ObjectEmpty();
        if (!still && inner.empty() && leaf) {
          sandbox::remove(live, field);
        } else if (!leaf) {
          drop(*value, entry.value, still, inner, join(path, field));
          if (!still && inner.empty() && is_empty(value)) sandbox::remove(live, field);
        }
      } else if (live.IsArray()) {
        ListForm form = form_of(path);
        for (auto it = live.Begin(); it != live.End(); ++it) {
          if (item_name(form, *it) != name) continue;
          if (!still && inner.empty())
            live.Erase(it);
          else
            drop(*it, entry.value, still, inner, path);
          break;
        }
      }
    }
  }

  void merge(Json& live, const Json& applied, const std::string& path) {
    if (applied.IsObject() && live.IsObject()) {
      for (const auto& member : applied.GetObject()) {
        std::string_view name = view(member.name);
        if (Json* old = find(live, name))
          merge(*old, member.value, join(path, name));
        else
          set(live, name, clone(member.value, alloc_), alloc_);
      }
      return;
    }
    ListForm form = form_of(path);
    if (!applied.IsArray() || !live.IsArray() || form.atomic()) {
      live = clone(applied, alloc_);
      return;
    }
    for (const auto& item : applied.GetArray()) {
      Json* old = nullptr;
      for (auto& each : live.GetArray())
        if (item_name(form, each) == item_name(form, item)) old = &each;
      if (!old)
        live.PushBack(clone(item, alloc_), alloc_);
      else if (!form.by_value)
        merge(*old, item, path);
    }
  }

 private:
  static std::string join(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
  }

  ListForm form_of(const std::string& path) const {
    ListForm form;
    if (path == "metadata.ownerReferences") {
      form.keys = {"uid"};
    } else if (path == "metadata.finalizers") {
      form.by_value = true;
    } else if (kind_.schema) {
      const Json* schema = &kind_.schema->json();
      for (std::size_t start = 0; schema && start <= path.size();) {
        std::size_t dot = std::min(path.find('.', start), path.size());
        if (const Json* items = find(*schema, "items")) schema = items;
        std::string_view name = std::string_view(path).substr(start, dot - start);
        const Json* next = find(*schema, "properties", name);
        schema = next ? next : find(*schema, "additionalProperties");
        start = dot + 1;
      }
      std::string_view type = schema ? text_at(*schema, "x-kubernetes-list-type") : std::string_view{};
      form.by_value = type == "set";
      if (type == "map")
        if (const Json* keys = find(*schema, "x-kubernetes-list-map-keys"); keys && keys->IsArray())
          for (const auto& key : keys->GetArray())
            if (key.IsString()) form.keys.emplace_back(view(key));
    } else if (!kind_.custom) {
      api::ListRule rule = api::list_rule(kind_.group, kind_.kind, path);
      form.by_value = rule.merge == api::ListRule::Merge::set;
      if (rule.merge == api::ListRule::Merge::by_key) form.keys.emplace_back(rule.key);
    }
    return form;
  }

  std::string item_name(const ListForm& form, const Json& item) const {
    if (form.by_value) return "v:" + write_json(item);
    std::string keys;
    for (const std::string& key : form.keys) {
      const Json* value = find(item, key);
      keys += fmt::format("{}{}:{}", keys.empty() ? "" : ",", quote_json(key),
                          value ? write_json(*value) : "null");
    }
    return "k:{" + keys + "}";
  }

  const Kind& kind_;
  JsonAlloc& alloc_;
};

// Fields that identify the object belong to nobody.
void strip_identity(Json& config) {
  sandbox::remove(config, "apiVersion");
  sandbox::remove(config, "kind");
  if (Json* meta = find(config, "metadata"); meta && meta->IsObject()) {
    for (const char* field : {"name", "namespace", "managedFields", "resourceVersion", "uid",
                              "creationTimestamp", "generation", "selfLink"})
      sandbox::remove(*meta, field);
    if (meta->ObjectEmpty()) sandbox::remove(config, "metadata");
  }
}

void record_manager(Json& doc, const Kind& kind, std::string_view manager, std::string_view subresource,
                    Json&& fields, const std::string& now, JsonAlloc& alloc) {
  Json& list = array_at(*find(doc, "metadata"), "managedFields", alloc);
  Json* mine = nullptr;
  for (auto& entry : list.GetArray())
    if (text_at(entry, "manager") == manager && text_at(entry, "operation") == "Apply" &&
        text_at(entry, "subresource") == subresource)
      mine = &entry;
  if (mine && same(find(*mine, "fieldsV1"), &fields)) return;
  if (!mine) {
    list.PushBack(Json(rapidjson::kObjectType), alloc);
    mine = &list[list.Size() - 1];
  }
  mine->SetObject();
  set_text(*mine, "manager", manager, alloc);
  set(*mine, "operation", make_const("Apply"), alloc);
  set_text(*mine, "apiVersion", kind.api_version(), alloc);
  set_text(*mine, "time", now, alloc);
  set(*mine, "fieldsType", make_const("FieldsV1"), alloc);
  set(*mine, "fieldsV1", std::move(fields), alloc);
  if (!subresource.empty()) set_text(*mine, "subresource", subresource, alloc);
}

/// It becomes a part of the object: UTF-8, printable, of bounded length.
void validate_manager(const std::string& manager, FieldErrors& errors) {
  constexpr std::size_t kMaxManager = 128;
  if (manager.size() > kMaxManager) errors.too_long("fieldManager", kMaxManager);
  JsonDoc again;
  std::string error;
  if (!parse_json(write_json(Json(rapidjson::StringRef(manager.data(), manager.size()))), again, error))
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
  FieldErrors errors;
  if (manager.empty())
    errors.required("fieldManager", "is required for apply patch");
  else
    validate_manager(manager, errors);
  if (!errors.empty()) return errors.failure("meta.k8s.io", "PatchOptions", "");
  JsonDoc config;
  std::string error;
  if (!parse_json(request.body, config, error)) {
    auto json = json::yaml_to_json(request.body);
    if (!json) return bad_request("error decoding YAML: line " + json.error().message());
    if (!parse_json(*json, config, error)) return bad_request("error decoding YAML: " + error);
  }
  if (!config.IsObject()) return bad_request("the configuration is no object");
  if (text_at(config, "kind") != kind.kind || text_at(config, "apiVersion") != kind.api_version())
    return bad_request(fmt::format("invalid object type: /{}, Kind={}", text_at(config, "apiVersion"),
                                   text_at(config, "kind")));
  if (find(config, "metadata", "managedFields") && !is_empty(find(config, "metadata", "managedFields")))
    return bad_request("metadata.managedFields must be nil");
  JsonAlloc& alloc = config.GetAllocator();
  Json& meta = object_at(config, "metadata", alloc);
  if (text_at(meta, "name").empty()) set_text(meta, "name", name, alloc);
  if (text_at(meta, "name") != name)
    return bad_request("the name of the object does not match the name on the URL");

  if (!kind.objects->get(ns, name)) {
    if (!subresource.empty()) return not_found(kind.named(), name);
    Applier applier(kind, alloc);
    Json wanted = clone(config, alloc);
    strip_identity(wanted);
    record_manager(config, kind, manager, subresource, applier.fields_of(wanted, ""), verbs.now_text(),
                   alloc);
    auto created = verbs.create(kind, ns, config, options);
    if (!created) return std::move(created).error();
    return Applied{*created, true};
  }
  std::string version(text_at(meta, "resourceVersion"));
  strip_identity(config);
  auto edit = [&](JsonDoc& doc) -> Outcome<void> {
    JsonAlloc& doc_alloc = doc.GetAllocator();
    Applier applier(kind, doc_alloc);
    Json fields = applier.fields_of(config, "");
    Json before;
    std::vector<Json> others;
    if (const Json* managers = find(doc, "metadata", "managedFields"); managers && managers->IsArray())
      for (const auto& entry : managers->GetArray()) {
        const Json* set_of = find(entry, "fieldsV1");
        if (!set_of || !set_of->IsObject()) continue;
        bool mine = text_at(entry, "manager") == manager && text_at(entry, "operation") == "Apply" &&
                    text_at(entry, "subresource") == subresource;
        if (mine)
          before = clone(*set_of, doc_alloc);
        else
          others.push_back(clone(*set_of, doc_alloc));
      }
    std::vector<const Json*> theirs;
    theirs.reserve(others.size());
    for (const Json& other : others) theirs.push_back(&other);
    if (before.IsObject()) applier.drop(doc, before, &fields, theirs, "");
    applier.merge(doc, config, "");
    if (!version.empty()) set_text(*find(doc, "metadata"), "resourceVersion", version, doc_alloc);
    record_manager(doc, kind, manager, subresource, std::move(fields), verbs.now_text(), doc_alloc);
    return {};
  };
  auto written = verbs.modify(kind, ns, name, subresource, edit, options);
  if (!written) return std::move(written).error();
  return Applied{*written, false};
}

}  // namespace koord::sandbox
