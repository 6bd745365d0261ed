// NodeNUMAResourceArgs: their rows, and what is wrong with them in Koordinator's words.
#include "scheduling/plugins/node_numa_resource/args.hpp"

#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"

namespace koord::scheduling {

namespace node_numa_resource {

namespace {
constexpr std::string_view kLeast =
    R"({"type":"LeastAllocated","resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1}]})";
}

void NodeNUMAResourceArgs::validate(const std::string&, FieldErrors& errors) const {
  const std::string& policy = *default_cpu_bind_policy;
  if (!policy.empty() && policy != "FullPCPUs" && policy != "SpreadByPCPUs")
    errors.invalid("defaultCPUBindPolicy", quote(policy),
                   "must specified CPU bind policy FullPCPUs or SpreadByPCPUs");
  scoring_strategy->validate("scoring strategy", errors);
  numa_scoring_strategy->validate("numa scoring strategy", errors);
}

KOORD_OBJECT(NodeNUMAResourceArgs, args_kind("NodeNUMAResourceArgs"),
             ROW(default_cpu_bind_policy)
                 .wire("defaultCPUBindPolicy")
                 .default_json(R"("FullPCPUs")")
                 .doc("Of pods that say none: FullPCPUs or SpreadByPCPUs; empty: they are not bound."),
             ROW(scoring_strategy).default_json(kLeast).doc("How nodes are scored."),
             ROW(numa_scoring_strategy).default_json(kLeast).doc("How NUMA nodes are scored."));

}  // namespace node_numa_resource

}  // namespace koord::scheduling
