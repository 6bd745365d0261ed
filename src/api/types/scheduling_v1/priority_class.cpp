// The schema tables of koord/api/types/scheduling_v1/priority_class.hpp: PriorityClass.
#include "koord/api/types/scheduling_v1/priority_class.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kPriorityClassShort[] = {"pc"};
constexpr Kind kPriorityClass = {.group = "scheduling.k8s.io",
                                 .version = "v1",
                                 .kind = "PriorityClass",
                                 .plural = "priorityclasses",
                                 .singular = "priorityclass",
                                 .short_names = kPriorityClassShort,
                                 .namespaced = false};

}  // namespace

template <>
const Schema& schema<PriorityClass>() {
  using T = PriorityClass;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(value, "value").required(),
      KOORD_FIELD(global_default, "globalDefault"),
      KOORD_FIELD(description, "description"),
      KOORD_FIELD(preemption_policy, "preemptionPolicy"),
  };
  static const Schema kSchema("PriorityClass", kRows, type_of<T>, &kPriorityClass);
  return kSchema;
}

}  // namespace koord::api
