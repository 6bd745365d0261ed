// Making stored objects from documents.
#include "sandbox/store/object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "koord/json/writer.hpp"

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

std::string_view Object::field(std::string_view name) const {
  for (const auto& [key, value] : fields)
    if (key == name) return value;
  return {};
}

namespace {

// Writes the document and notes where its resourceVersion stands.
void write(const json::Value& doc, Object& object) {
  json::Writer json(object.bytes);
  json.begin_object();
  for (const json::Member& member : doc.members()) {
    json.key(member.key());
    if (member.key() != "metadata") {
      json.value(member.value);
      continue;
    }
    json.begin_object();
    for (const json::Member& meta : member.value.members()) {
      json.member(meta.key(), meta.value);
      if (meta.key() == "resourceVersion")  // it ends in its last digit and a quote
        object.rv_at = object.bytes.size() - 1 - fmt::formatted_size("{}", object.rv);
    }
    json.end_object();
  }
  json.end_object();
}

}  // namespace

ObjectPtr make_object(json::Value& doc, json::Arena& arena, std::uint64_t rv,
                      FieldValues (*fields)(const json::Value&)) {
  auto object = std::make_shared<Object>();
  json::Value& meta = object_at(doc, "metadata", arena);
  set_text(meta, "resourceVersion", fmt::to_string(rv), arena);
  object->ns = text_at(meta, "namespace");
  object->name = text_at(meta, "name");
  object->uid = text_at(meta, "uid");
  object->rv = rv;
  if (const json::Value* labels = find(meta, "labels"); labels && labels->is_object()) {
    object->labels.reserve(labels->size());
    for (const auto& label : labels->members())
      if (label.value.is_string()) object->labels.emplace_back(label.key(), label.value.text());
    std::sort(object->labels.begin(), object->labels.end());
  }
  if (const json::Value* owners = find(meta, "ownerReferences"); owners && owners->is_array())
    for (const auto& owner : owners->elements())
      object->owners.push_back({std::string(text_at(owner, "kind")), std::string(text_at(owner, "name")),
                                std::string(text_at(owner, "uid")), true_at(owner, "controller"),
                                true_at(owner, "blockOwnerDeletion")});
  object->deleting = !text_at(meta, "deletionTimestamp").empty();
  object->has_finalizers = !is_empty(find(meta, "finalizers"));
  if (fields) object->fields = fields(doc);
  object->bytes.reserve(1500);
  write(doc, *object);
  return object;
}

void load(const Object& object, json::Document& doc) {
  if (auto read = doc.read(object.bytes); !read)
    throw std::logic_error(fmt::format("stored object is malformed: {}", read.error().message()));
}

ObjectPtr with_resource_version(const Object& object, std::uint64_t rv) {
  auto copy = std::make_shared<Object>(object);
  copy->bytes.replace(object.rv_at, fmt::formatted_size("{}", object.rv), fmt::to_string(rv));
  copy->rv = rv;
  return copy;
}

}  // namespace koord::sandbox
