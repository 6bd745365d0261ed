// Flags of commands that ask a cluster, beside those that each has for itself.
#pragma once

#include <array>

#include "koord/runtime/flags.hpp"

namespace koord::runtime {

/// What kube::find_config() is asked with.
inline constexpr std::array<Flag, 2> kClusterFlags = {{
    {"kubeconfig", FlagType::text, "",
     "How to reach the API server; empty: the file that KUBECONFIG names, else the pod's service account, "
     "else "
     "~/.kube/config."},
    {"context", FlagType::text, "", "The kubeconfig's context; empty: its current one."},
}};

}  // namespace koord::runtime
