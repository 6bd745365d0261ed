// How a command reaches a cluster, and what it says when that fails.
#pragma once

#include <string_view>

#include "koord/base/result.hpp"
#include "koord/kube/config.hpp"

namespace koord::runtime {

class FlagValues;

/// By --kubeconfig and --context (kClusterFlags); the user agent is koord-COMMAND/VERSION.
Result<kube::ClientConfig> command_config(const FlagValues& flags, std::string_view command);

/// The error of a request, with the server and where its address and the credentials came from, if it is of
/// the way there or of who asked: "https://10.0.0.1:6443 (by /root/.kube/config): Unauthorized: ...". Others
/// speak for themselves.
Error at_server(const kube::ClientConfig& config, const Error& error);

}  // namespace koord::runtime
