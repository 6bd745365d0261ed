// How a command reaches a cluster, and what it says when that fails.
#pragma once

#include <string_view>

#include "koord/base/result.hpp"
#include "koord/kube/config.hpp"

namespace koord::runtime {

class FlagValues;

/// By --kubeconfig and --context (kClusterFlags); the user agent is koord-COMMAND/VERSION.
Result<kube::ClientConfig> command_config(const FlagValues& flags, std::string_view command);

/// An API server's own "not found", which names the object. That of a kind that it does not serve does not,
/// nor that of another sort of server.
bool is_missing_object(const Error& error);

/// The error of a request, with the server, where its address and the credentials came from, and what to do,
/// if it is of the way there, of who asked, of what is not there, or no answer of a Kubernetes API's:
/// "https://10.0.0.1:6443 (by /root/.kube/config): Unauthorized: ...". Others speak for themselves.
Error at_server(const kube::ClientConfig& config, const Error& error);

}  // namespace koord::runtime
