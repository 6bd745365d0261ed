// Namespace (v1).
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct NamespaceStatus {
  Symbol phase;  // Active, Terminating
  KOORD_STRUCT(NamespaceStatus);
};

struct NamespaceSpec {
  std::vector<Symbol> finalizers;
  KOORD_STRUCT(NamespaceSpec);
};

struct Namespace {
  ObjectMeta metadata;
  NamespaceSpec spec;
  NamespaceStatus status;
  KOORD_STRUCT(Namespace);
};

}  // namespace koord::api
