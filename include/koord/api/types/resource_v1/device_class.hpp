// resource.k8s.io/v1: DeviceClass, what an administrator calls devices of one kind.
#pragma once

#include "koord/api/types/resource_v1/device_selection.hpp"

namespace koord::api {

struct DeviceClassConfiguration {
  DeviceConfiguration configuration;
  KOORD_STRUCT(DeviceClassConfiguration);
};

struct DeviceClassSpec {
  List<DeviceSelector> selectors;  // all must hold
  List<DeviceClassConfiguration> config;
  std::optional<Symbol>
      extended_resource_name;  // the resource by which pods ask for such a device without a claim
  KOORD_STRUCT(DeviceClassSpec);
};

struct DeviceClass {
  ObjectMeta metadata;
  DeviceClassSpec spec;
  KOORD_STRUCT(DeviceClass);
};

}  // namespace koord::api
