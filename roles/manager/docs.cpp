// The keys of slo-controller-config as markdown, from their tables.
#include "docs.hpp"

#include <fmt/format.h>

#include "framework/config/slo_config.hpp"
#include "koord/api/schema/docs.hpp"

namespace koord::manager {

std::string docs() {
  std::string out =
      "### Keys of slo-controller-config\n\nEach value is JSON, read as Go reads it. `nodeStrategies` (or "
      "`nodeConfigs`) is a list of `name`, `nodeSelector` and fields of the strategy; the first that selects "
      "a node is "
      "the node's.\n\n| key | the cluster's strategy | groups of nodes | in effect without the key "
      "|\n|---|---|---|---|\n";
  for (const KeyLayout& key : config_keys())
    fmt::format_to(std::back_inserter(out), "| {} | {} | {}, {} | `{}` |\n", key.key,
                   key.inlined ? "beside the groups" : "clusterStrategy", key.groups,
                   key.replaced ? "in its place" : "merged over it", key.defaults);
  fmt::format_to(std::back_inserter(out), "\n#### colocation-config\n\n{}",
                 api::fields_markdown(api::schema<ColocationStrategy>()));
  fmt::format_to(std::back_inserter(out), "\n#### cpu-normalization-config\n\n{}",
                 api::fields_markdown(api::schema<CpuNormalizationStrategy>()));
  fmt::format_to(std::back_inserter(out), "\n#### resource-amplification-config\n\n{}",
                 api::fields_markdown(api::schema<ResourceAmplificationStrategy>()));
  out.append("\nThe fields of the other keys are those of NodeSLO's spec.\n");
  return out;
}

}  // namespace koord::manager
