// DeviceShareArgs.
#pragma once

#include <string>
#include <vector>

#include "koord/api/values/box.hpp"
#include "koord/scheduling/scoring/resource_args.hpp"

namespace koord::scheduling::device_share {

struct GpuSharedResourceTemplatesConfig {
  std::string config_map_namespace;
  std::string config_map_name;
  std::vector<std::string> matched_resources;
  KOORD_STRUCT(GpuSharedResourceTemplatesConfig);
};

struct GpuShareUnsupportedModel {
  std::string vendor, model;
  KOORD_STRUCT(GpuShareUnsupportedModel);
};

struct DeviceShareArgs {
  std::string allocator;  // deprecated
  api::Box<KoordinatorScoring> scoring_strategy;
  bool disable_device_numa_topology_alignment = false;
  api::Box<GpuSharedResourceTemplatesConfig> gpu_shared_resource_templates_config;
  std::vector<GpuShareUnsupportedModel> gpu_share_unsupported_models;

  void validate(const std::string&, FieldErrors& errors) const;
  KOORD_STRUCT(DeviceShareArgs);
};

}  // namespace koord::scheduling::device_share
