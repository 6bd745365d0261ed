// KeptObjects: what the API server said last of this node, in a file, for an agent that starts while the
// server is away: without it the agent would not know what to protect, nor where its kubelet listens.
#pragma once

#include <string>
#include <string_view>

#include "koord/api/schema/schema.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

/// Of each object what the agent reads. No NodeSLO: the server has none for this node.
struct KeptObjects {
  api::Box<api::Node> node;
  api::Box<api::NodeSlo> node_slo;
  KOORD_STRUCT(KeptObjects);
};

KeptObjects kept_objects(const api::Node& node, const api::NodeSlo* slo);

/// Code::not_found: there is no such file. Any other error: it is of no use; it is not JSON, too long, or of
/// another node.
Result<KeptObjects> read_kept(const std::string& path, std::string_view node);

/// Puts a new file in the place of the old one, for its owner alone. Blocks: for the worker pool.
/// Code::too_large beyond what read_kept() would take: then there is no file.
Result<> write_kept(const std::string& path, const std::string& text);

}  // namespace koord::koordlet
