// The schema tables of koord/api/types/core_v1/config_map.hpp: ConfigMap.
#include "koord/api/types/core_v1/config_map.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kConfigMapShort[] = {"cm"};
constexpr Kind kConfigMap = {.group = "",
                             .version = "v1",
                             .kind = "ConfigMap",
                             .plural = "configmaps",
                             .singular = "configmap",
                             .short_names = kConfigMapShort};

}  // namespace

template <>
const Schema& schema<ConfigMap>() {
  using T = ConfigMap;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(data, "data"),
      KOORD_FIELD(binary_data, "binaryData"),
      KOORD_FIELD(immutable, "immutable"),
  };
  static const Schema kSchema("ConfigMap", kRows, type_of<T>, &kConfigMap);
  return kSchema;
}

}  // namespace koord::api
