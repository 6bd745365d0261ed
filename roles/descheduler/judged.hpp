// What a descheduler would make of a cluster's configuration, for who asks without running one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::descheduler {

/// The names of the profiles of a DeschedulerConfiguration, read, completed and checked as the role does that
/// is given it as --config. Errors name `place` and the line.
Result<std::vector<std::string>> judge_configuration(std::string_view text, const std::string& place);

}  // namespace koord::descheduler
