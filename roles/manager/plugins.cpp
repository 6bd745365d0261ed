// The table of plugins of noderesource, in the order in which they run: what follows from a ratio comes after
// it.
#include "plugins.hpp"

namespace koord::manager {

extern const ResourcePlugin kCpuNormalization;
extern const ResourcePlugin kResourceAmplification;
extern const ResourcePlugin kMidResource;
extern const ResourcePlugin kBatchResource;
extern const ResourcePlugin kGpuDeviceResource;
extern const ResourcePlugin kRdmaDeviceResource;

ResourcePluginTable resource_plugin_table() {
  static constexpr const ResourcePlugin* kTable[] = {
      &kCpuNormalization, &kResourceAmplification, &kMidResource,
      &kBatchResource,    &kGpuDeviceResource,     &kRdmaDeviceResource,
  };
  return kTable;
}

}  // namespace koord::manager
