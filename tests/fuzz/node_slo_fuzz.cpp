// A NodeSLO's spec over the defaults: what is in effect keeps the limits of the schema whatever was given,
// merging it again changes nothing, and host applications stay inside of the hierarchy.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "framework/objects/slo.hpp"
#include "koord/api/schema/codec.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_inside(std::string_view group) {
  return !group.empty() && !group.starts_with('/') && !group.ends_with('/') &&
         ("/" + std::string(group) + "/").find("/../") == std::string::npos &&
         group.find("//") == std::string_view::npos && group.find('\0') == std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto given = api::decode<api::NodeSloSpec>(text);
  if (!given) return 0;
  MergedSlo merged = merge_slo(*given);
  const std::string json = api::encode(merged.spec);
  check(api::decode_strict<api::NodeSloSpec>(json).has_value());
  check(merged.spec.resource_used_threshold_with_be && merged.spec.cpu_burst_strategy &&
        merged.spec.resource_qos_strategy);
  const MergedSlo again = merge_slo(merged.spec);
  check(again.warnings.empty() && api::encode(again.spec) == json);
  for (const auto driver : {host::CgroupDriver::cgroupfs, host::CgroupDriver::systemd}) {
    const auto applications = host_applications(merged.spec, driver, merged.warnings);
    for (std::size_t i = 0; i < applications.size(); ++i) {
      check(is_inside(applications[i].group));
      check(i == 0 || applications[i - 1].name < applications[i].name);
    }
  }
  return 0;
}
