// The schema tables of koord/api/types/apiextensions_v1/custom_resource_definition.hpp:
// CustomResourceDefinition.
#include "koord/api/types/apiextensions_v1/custom_resource_definition.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(CrdNames, ROW(plural).required(), ROW(singular), ROW(short_names), ROW(kind).required(),
             ROW(list_kind), ROW(categories));
KOORD_SCHEMA(CrdPrinterColumn, ROW(name).required(), ROW(type).required(), ROW(format), ROW(description),
             ROW(priority), ROW(json_path).required());
KOORD_SCHEMA(CrdValidation, ROW(open_apiv3_schema).wire("openAPIV3Schema"));
KOORD_SCHEMA(CrdScale, ROW(spec_replicas_path).required(), ROW(status_replicas_path).required(),
             ROW(label_selector_path));
KOORD_SCHEMA(CrdStatusSubresource);
KOORD_SCHEMA(CrdSubresources, ROW(status), ROW(scale));
KOORD_SCHEMA(CrdVersion, ROW(name).required(), ROW(served).required(), ROW(storage).required(),
             ROW(deprecated), ROW(schema), ROW(subresources), ROW(additional_printer_columns));
KOORD_SCHEMA(CrdSpec, ROW(group).required(), ROW(names).required(), ROW(scope).required(),
             ROW(versions).required(), ROW(conversion), ROW(preserve_unknown_fields));
KOORD_SCHEMA(CrdCondition, ROW(type).required(), ROW(status).required(), ROW(last_transition_time),
             ROW(reason), ROW(message));
KOORD_SCHEMA(CrdStatus, ROW(conditions), ROW(accepted_names), ROW(stored_versions));
KOORD_OBJECT(
    CustomResourceDefinition,
    Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions").cluster_scoped(),
    ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
