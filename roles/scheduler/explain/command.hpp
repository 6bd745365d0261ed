// `koord explain`: why a pod is where it is, or nowhere, and what would change that.
#pragma once

#include <span>
#include <string>

#include "koord/runtime/role.hpp"

namespace koord::scheduler::explain {

std::span<const runtime::Flag> flags();
int run_explain(std::span<const std::string> arguments, runtime::Streams streams);

}  // namespace koord::scheduler::explain
