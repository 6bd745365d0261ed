// resource.k8s.io/v1alpha3: DeviceTaintRule, a taint that an administrator gives devices.
#pragma once

#include "koord/api/types/resource_v1/resource_slice.hpp"

namespace koord::api {

/// What is absent is true of every device.
struct DeviceTaintSelector {
  std::optional<Symbol> driver, pool, device;
  KOORD_STRUCT(DeviceTaintSelector);
};

struct DeviceTaintRuleSpec {
  Box<DeviceTaintSelector> device_selector;
  DeviceTaint taint;
  KOORD_STRUCT(DeviceTaintRuleSpec);
};

struct DeviceTaintRule {
  ObjectMeta metadata;
  DeviceTaintRuleSpec spec;
  KOORD_STRUCT(DeviceTaintRule);
};

}  // namespace koord::api
