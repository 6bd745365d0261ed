// What the system says about the process: the host's name, the environment.
#pragma once

#include <optional>
#include <string>

namespace koord {

/// The host's name as the kernel has it; "localhost" if it has none.
std::string host_name();

/// A variable of the environment; nothing if it is not set. Not while another thread sets one.
std::optional<std::string> environment(const char* name);

}  // namespace koord
