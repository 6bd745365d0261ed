// Making stored objects from documents.
#include "sandbox/store/object.hpp"

#include <algorithm>
#include <stdexcept>

namespace koord::sandbox {

std::string Object::make_key(std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + name.size() + 1);
  if (!ns.empty()) key.append(ns).push_back('/');
  key.append(name);
  return key;
}

const std::string* Object::label(std::string_view key) const {
  auto it = std::lower_bound(labels.begin(), labels.end(), key,
                             [](const auto& entry, std::string_view k) { return entry.first < k; });
  return it != labels.end() && it->first == key ? &it->second : nullptr;
}

ObjectPtr make_object(Json& doc, JsonAlloc& alloc, std::uint64_t rv, FieldValues (*fields)(const Json&)) {
  auto object = std::make_shared<Object>();
  Json& meta = object_at(doc, "metadata", alloc);
  set_text(meta, "resourceVersion", std::to_string(rv), alloc);
  object->ns = text_at(meta, "namespace");
  object->name = text_at(meta, "name");
  object->uid = text_at(meta, "uid");
  object->rv = rv;
  if (const Json* labels = find(meta, "labels"); labels && labels->IsObject()) {
    object->labels.reserve(labels->MemberCount());
    for (const auto& label : labels->GetObject())
      if (label.value.IsString()) object->labels.emplace_back(view(label.name), view(label.value));
    std::sort(object->labels.begin(), object->labels.end());
  }
  if (const Json* owners = find(meta, "ownerReferences"); owners && owners->IsArray())
    for (const auto& owner : owners->GetArray())
      object->owners.push_back({std::string(text_at(owner, "kind")), std::string(text_at(owner, "name")),
                                std::string(text_at(owner, "uid")), true_at(owner, "controller"),
                                true_at(owner, "blockOwnerDeletion")});
  object->deleting = !text_at(meta, "deletionTimestamp").empty();
  object->has_finalizers = !is_empty(find(meta, "finalizers"));
  if (fields) object->fields = fields(doc);
  object->bytes.reserve(1500);
  write_json(doc, object->bytes);
  object->bytes.shrink_to_fit();
  return object;
}

void load(const Object& object, JsonDoc& doc) {
  std::string error;
  if (!parse_json(object.bytes, doc, error)) throw std::logic_error("stored object is malformed: " + error);
}

ObjectPtr with_resource_version(const Object& object, std::uint64_t rv) {
  JsonDoc doc;
  load(object, doc);
  auto copy = std::make_shared<Object>(object);
  set_text(object_at(doc, "metadata", doc.GetAllocator()), "resourceVersion", std::to_string(rv),
           doc.GetAllocator());
  copy->rv = rv;
  write_json(doc, copy->bytes);
  return copy;
}

}  // namespace koord::sandbox
