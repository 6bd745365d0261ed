// Object: one immutable version of an API object: its bytes, serialised once, and what selectors need.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/json/value.hpp"

namespace koord::sandbox {

using Bytes = std::shared_ptr<const std::string>;

struct OwnerRef {
  std::string kind, name, uid;
  bool controller = false, block_deletion = false;
};

/// Names and values for field selectors; the names are literals of the kind's table.
using FieldValues = std::vector<std::pair<std::string_view, std::string>>;

struct Object {
  std::string ns, name, uid;
  std::uint64_t rv = 0;
  std::vector<std::pair<std::string, std::string>> labels;  // sorted by key
  std::vector<OwnerRef> owners;
  FieldValues fields;
  bool deleting = false;  // has a deletionTimestamp
  bool has_finalizers = false;
  std::string bytes;
  std::size_t rv_at = 0;  // where in it the digits of metadata.resourceVersion begin

  std::string key() const { return make_key(ns, name); }
  /// The place in a collection: etcd's order of keys.
  static std::string make_key(std::string_view ns, std::string_view name);
  const std::string* label(std::string_view key) const;
  /// Of fields; empty if it is not there.
  std::string_view field(std::string_view name) const;
};
using ObjectPtr = std::shared_ptr<const Object>;

/// Writes the document with this resourceVersion and reads its metadata. `doc` is changed.
ObjectPtr make_object(json::Value& doc, json::Arena& arena, std::uint64_t rv,
                      FieldValues (*fields)(const json::Value&));
/// The bytes of an object, sharing its ownership.
inline Bytes bytes_of(const ObjectPtr& object) { return Bytes(object, &object->bytes); }
/// The same object as of another resourceVersion: what a deletion shows.
ObjectPtr with_resource_version(const Object& object, std::uint64_t rv);
/// The document of a stored object; its bytes are known to be well-formed.
void load(const Object& object, json::Document& doc);

}  // namespace koord::sandbox
