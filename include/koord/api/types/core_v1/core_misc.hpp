// The smaller kinds of the core group: Namespace, ConfigMap, Secret, Binding.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct NamespaceStatus {
  Symbol phase;  // Active, Terminating

  friend bool operator==(const NamespaceStatus&, const NamespaceStatus&) = default;
};
KOORD_API_SCHEMA(NamespaceStatus);

struct NamespaceSpec {
  std::vector<Symbol> finalizers;

  friend bool operator==(const NamespaceSpec&, const NamespaceSpec&) = default;
};
KOORD_API_SCHEMA(NamespaceSpec);

struct Namespace {
  ObjectMeta metadata;
  NamespaceSpec spec;
  NamespaceStatus status;

  friend bool operator==(const Namespace&, const Namespace&) = default;
};
KOORD_API_SCHEMA(Namespace);

struct ConfigMap {
  ObjectMeta metadata;
  StringMap data;
  StringMap binary_data;  // base64
  std::optional<bool> immutable;

  friend bool operator==(const ConfigMap&, const ConfigMap&) = default;
};
KOORD_API_SCHEMA(ConfigMap);

struct Secret {
  ObjectMeta metadata;
  Symbol type;
  StringMap data;  // base64
  std::optional<bool> immutable;

  friend bool operator==(const Secret&, const Secret&) = default;
};
KOORD_API_SCHEMA(Secret);

/// Posted to a pod's binding subresource.
struct Binding {
  ObjectMeta metadata;
  ObjectReference target;

  friend bool operator==(const Binding&, const Binding&) = default;
};
KOORD_API_SCHEMA(Binding);

}  // namespace koord::api
