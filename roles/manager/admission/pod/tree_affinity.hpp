// Pods of quota trees (gate MultiQuotaTree): they run on the nodes of their tree alone.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// Each of the terms that the pod's required node affinity has asks for `nodes`, too; without terms it gets
/// one. A selector that asks for nothing changes nothing.
void require_nodes(json::Value& pod, const api::LabelSelector& nodes, json::Arena& arena);

}  // namespace koord::manager
