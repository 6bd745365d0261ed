// apiextensions.k8s.io/v1: CustomResourceDefinition.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct CrdNames {
  std::string plural;
  std::string singular;
  std::vector<std::string> short_names;
  std::string kind;
  std::string list_kind;
  std::vector<std::string> categories;
  KOORD_STRUCT(CrdNames);
};

struct CrdPrinterColumn {
  std::string name;
  std::string type;
  std::string format;
  std::string description;
  int32_t priority = 0;
  std::string json_path;
  KOORD_STRUCT(CrdPrinterColumn);
};

struct CrdValidation {
  RawJson open_apiv3_schema;
  KOORD_STRUCT(CrdValidation);
};

struct CrdScale {
  std::string spec_replicas_path;
  std::string status_replicas_path;
  std::string label_selector_path;
  KOORD_STRUCT(CrdScale);
};

struct CrdStatusSubresource {
  KOORD_STRUCT(CrdStatusSubresource);
};

struct CrdSubresources {
  Box<CrdStatusSubresource> status;
  Box<CrdScale> scale;
  KOORD_STRUCT(CrdSubresources);
};

struct CrdVersion {
  std::string name;
  bool served = false;
  bool storage = false;
  bool deprecated = false;
  Box<CrdValidation> schema;
  Box<CrdSubresources> subresources;
  std::vector<CrdPrinterColumn> additional_printer_columns;
  KOORD_STRUCT(CrdVersion);
};

struct CrdSpec {
  std::string group;
  CrdNames names;
  Symbol scope;  // Namespaced, Cluster
  std::vector<CrdVersion> versions;
  RawJson conversion;
  bool preserve_unknown_fields = false;
  KOORD_STRUCT(CrdSpec);
};

struct CrdCondition {
  Symbol type;
  Symbol status;
  Time last_transition_time;
  Symbol reason;
  std::string message;
  KOORD_STRUCT(CrdCondition);
};

struct CrdStatus {
  std::vector<CrdCondition> conditions;
  CrdNames accepted_names;
  std::vector<std::string> stored_versions;
  KOORD_STRUCT(CrdStatus);
};

struct CustomResourceDefinition {
  ObjectMeta metadata;
  CrdSpec spec;
  CrdStatus status;
  KOORD_STRUCT(CustomResourceDefinition);
};

}  // namespace koord::api
