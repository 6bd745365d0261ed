// Namespace (v1).
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

}  // namespace koord::api
