// The scheduler's plugins. The order is kube-scheduler's MultiPoint order; a new plugin is a row here, a
// folder under plugins/, a test and a line in README.md.
#include "plugins.hpp"

#include "plugins/default_binder/default_binder.hpp"
#include "plugins/node_affinity/node_affinity.hpp"
#include "plugins/node_name/node_name.hpp"
#include "plugins/node_ports/node_ports.hpp"
#include "plugins/node_resources_balanced_allocation/node_resources_balanced_allocation.hpp"
#include "plugins/node_resources_fit/node_resources_fit.hpp"
#include "plugins/node_unschedulable/node_unschedulable.hpp"
#include "plugins/priority_sort/priority_sort.hpp"
#include "plugins/scheduling_gates/scheduling_gates.hpp"
#include "plugins/taint_toleration/taint_toleration.hpp"

namespace koord::scheduler {

std::span<const PluginEntry> plugin_table() {
  static const PluginEntry kTable[] = {
      {"SchedulingGates", nullptr, "", &scheduling_gates::make},
      {"PrioritySort", nullptr, "", &priority_sort::make},
      {"NodeUnschedulable", nullptr, "", &node_unschedulable::make},
      {"NodeName", nullptr, "", &node_name::make},
      {"TaintToleration", nullptr, "", &taint_toleration::make},
      {"NodeAffinity", &node_affinity::kArgs, "", &node_affinity::make},
      {"NodePorts", nullptr, "", &node_ports::make},
      {"NodeResourcesFit", &node_resources_fit::kArgs, "", &node_resources_fit::make},
      {"NodeResourcesBalancedAllocation", &node_resources_balanced_allocation::kArgs, "",
       &node_resources_balanced_allocation::make},
      {"DefaultBinder", nullptr, "", &default_binder::make},
  };
  return kTable;
}

}  // namespace koord::scheduler
