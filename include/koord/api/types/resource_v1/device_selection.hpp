// resource.k8s.io/v1: what classes of devices and claims share: selectors, configuration, tolerations.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct CelDeviceSelector {
  Symbol expression;  // at most 10 KiB; of a claim from a template it repeats in all claims
  KOORD_STRUCT(CelDeviceSelector);
};

struct DeviceSelector {
  Box<CelDeviceSelector> cel;  // absent: of a kind that this version does not know
  KOORD_STRUCT(DeviceSelector);
};

struct OpaqueDeviceConfiguration {
  Symbol driver;
  RawJson parameters;  // the driver's, at most 10 KiB
  KOORD_STRUCT(OpaqueDeviceConfiguration);
};

/// What a driver is told of devices. Part of what has a source, or requests, beside it.
struct DeviceConfiguration {
  Box<OpaqueDeviceConfiguration> opaque;
  KOORD_STRUCT(DeviceConfiguration);
};

struct DeviceToleration {
  Symbol key;        // empty: of every key
  Symbol operator_;  // Exists, Equal (if empty)
  Symbol value;
  Symbol effect;  // empty: every effect
  std::optional<int64_t> toleration_seconds;
  KOORD_STRUCT(DeviceToleration);
};

}  // namespace koord::api
