// How the agent is a plugin of the container runtime (NRI), as flags have it.
#pragma once

#include <optional>

#include "setup/flags.hpp"
#include "transports/nri/transport.hpp"

namespace koord::koordlet {

/// Nothing: --enable-nri-runtime-hook=false. Code::invalid names the flag and what it may be.
Result<std::optional<nri::Settings>> nri_settings(const runtime::FlagValues& flags, const Place& place);

}  // namespace koord::koordlet
