// Which of Koordinator's programs a workload runs, and how.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/json/value.hpp"
#include "migrate/facts.hpp"

namespace koord::app::migrate {

/// koord's name of the role that a program with this command line is; empty: none.
using RoleOf = std::string (*)(std::string_view program, std::span<const std::string> line);

/// The containers of a Deployment or DaemonSet (`kind`) that run one of Koordinator's programs, or koord, by
/// the name that is called, or where no command is given by the image's. Command and arguments are expanded
/// as the kubelet does: $(NAME) by what the workload writes out, $$ is $; what comes from elsewhere stays as
/// it is.
std::vector<Program> programs_of(const json::Value& workload, std::string_view kind, RoleOf role_of);

}  // namespace koord::app::migrate
