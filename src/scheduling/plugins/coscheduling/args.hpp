// CoschedulingArgs.
#pragma once

#include <optional>
#include <string>

#include "koord/api/values/time.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::coscheduling {

struct CoschedulingArgs {
  std::optional<api::Duration> default_timeout;
  std::optional<std::int64_t> controller_workers;
  std::optional<bool> skip_check_schedule_cycle;
  std::optional<bool> enable_preemption;
  std::optional<bool> aware_network_topology;
  std::optional<std::string> default_match_policy;

  void validate(const std::string&, FieldErrors& errors) const;
  KOORD_STRUCT(CoschedulingArgs);
};

}  // namespace koord::scheduling::coscheduling
