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

  friend bool operator==(const CrdNames&, const CrdNames&) = default;
};
KOORD_API_SCHEMA(CrdNames);

struct CrdPrinterColumn {
  std::string name;
  std::string type;
  std::string format;
  std::string description;
  int32_t priority = 0;
  std::string json_path;

  friend bool operator==(const CrdPrinterColumn&, const CrdPrinterColumn&) = default;
};
KOORD_API_SCHEMA(CrdPrinterColumn);

struct CrdValidation {
  RawJson open_apiv3_schema;

  friend bool operator==(const CrdValidation&, const CrdValidation&) = default;
};
KOORD_API_SCHEMA(CrdValidation);

struct CrdScale {
  std::string spec_replicas_path;
  std::string status_replicas_path;
  std::string label_selector_path;

  friend bool operator==(const CrdScale&, const CrdScale&) = default;
};
KOORD_API_SCHEMA(CrdScale);

struct CrdStatusSubresource {
  friend bool operator==(const CrdStatusSubresource&, const CrdStatusSubresource&) = default;
};
KOORD_API_SCHEMA(CrdStatusSubresource);

struct CrdSubresources {
  Box<CrdStatusSubresource> status;
  Box<CrdScale> scale;

  friend bool operator==(const CrdSubresources&, const CrdSubresources&) = default;
};
KOORD_API_SCHEMA(CrdSubresources);

struct CrdVersion {
  std::string name;
  bool served = false;
  bool storage = false;
  bool deprecated = false;
  Box<CrdValidation> schema;
  Box<CrdSubresources> subresources;
  std::vector<CrdPrinterColumn> additional_printer_columns;

  friend bool operator==(const CrdVersion&, const CrdVersion&) = default;
};
KOORD_API_SCHEMA(CrdVersion);

struct CrdSpec {
  std::string group;
  CrdNames names;
  Symbol scope;  // Namespaced, Cluster
  std::vector<CrdVersion> versions;
  RawJson conversion;
  bool preserve_unknown_fields = false;

  friend bool operator==(const CrdSpec&, const CrdSpec&) = default;
};
KOORD_API_SCHEMA(CrdSpec);

struct CrdCondition {
  Symbol type;
  Symbol status;
  Time last_transition_time;
  Symbol reason;
  std::string message;

  friend bool operator==(const CrdCondition&, const CrdCondition&) = default;
};
KOORD_API_SCHEMA(CrdCondition);

struct CrdStatus {
  std::vector<CrdCondition> conditions;
  CrdNames accepted_names;
  std::vector<std::string> stored_versions;

  friend bool operator==(const CrdStatus&, const CrdStatus&) = default;
};
KOORD_API_SCHEMA(CrdStatus);

struct CustomResourceDefinition {
  ObjectMeta metadata;
  CrdSpec spec;
  CrdStatus status;

  friend bool operator==(const CustomResourceDefinition&, const CustomResourceDefinition&) = default;
};
KOORD_API_SCHEMA(CustomResourceDefinition);

}  // namespace koord::api
