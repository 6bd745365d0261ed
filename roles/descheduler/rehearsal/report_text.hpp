// A pass's report as text, for people at a terminal.
#pragma once

#include <string>

#include "passes/report.hpp"

namespace koord::descheduler::rehearsal {

/// Of a dry run. Ends with a line break; what comes from objects is on one line, without control characters.
std::string render(const PassReport& report);

}  // namespace koord::descheduler::rehearsal
