// What a scheduler would make of a cluster's configuration, for who asks without running one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::scheduler {

/// The names of the profiles of a KubeSchedulerConfiguration, read, completed and checked as the role does
/// that is given it as --config with the gates "A=true,B=false" (those that are unknown are left out). Errors
/// name `place` and the line.
Result<std::vector<std::string>> judge_configuration(std::string_view text, const std::string& place,
                                                     std::string_view gates);

}  // namespace koord::scheduler
