// The nodes of --nodes=N.
#pragma once

#include <string>

#include "koord/base/result.hpp"
#include "sandbox/api/verbs.hpp"

namespace koord::sandbox {

/// `capacity` as in SandboxOptions::node_capacity; `templates` are Node manifests as JSON, copied in turn.
Result<> make_nodes(Verbs& verbs, int count, std::string_view capacity,
                    const std::vector<std::string>& templates);

}  // namespace koord::sandbox
