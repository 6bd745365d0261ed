// Alone: an agent that finds another one on its host does not begin.
#pragma once

#include "koord/base/log.hpp"
#include "koord/base/result.hpp"
#include "koord/runtime/flags.hpp"
#include "setup/flags.hpp"

namespace koord::koordlet {

/// Whether nobody else has what this agent's flags say that it will hold (framework/keep/other_agents.hpp).
/// Code::already_exists says who. A --cleanup is told in the log and goes on: it begins nothing, and what it
/// takes back is what an agent of koord's wrote down. Blocks for seconds where somebody is found.
Result<> check_alone(const runtime::FlagValues& flags, const Place& place, Logger& log);

}  // namespace koord::koordlet
