// What hook servers' files said last, kept for the proxy's next process: a file that was spoiled meanwhile
// must not let pods start without their hooks.
#pragma once

#include <string>

#include "hooks/hook_servers.hpp"

namespace koord::proxy {

/// Code::not_found: nothing was kept. Code::forbidden: others than root may write the file or its folder.
/// Other errors name the file and what is wrong.
Result<HookTexts> read_kept(const std::string& file);

/// Replaces it whole, mode 0600, its folder made if it is missing. A crash of the machine may lose it, as all
/// that is below /run.
Result<> write_kept(const std::string& file, const HookTexts& texts);

}  // namespace koord::proxy
