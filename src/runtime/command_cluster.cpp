// The cluster of a command: see command_cluster.hpp.
#include "koord/runtime/command_cluster.hpp"

#include <fmt/format.h>

#include "koord/base/system.hpp"
#include "koord/base/version.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::runtime {

namespace {

/// Of the way to the server, or of who asked.
bool is_of_the_way(Code code) {
  return code == Code::forbidden || (retriable(code) && code != Code::conflict && code != Code::gone);
}

}  // namespace

Result<kube::ClientConfig> command_config(const FlagValues& flags, std::string_view command) {
  KOORD_TRY(config, kube::find_config(flags.get("kubeconfig"), flags.get("context"), &environment));
  config.user_agent = fmt::format("koord-{}/{}", command, build_info().version);
  return std::move(config);
}

Error at_server(const kube::ClientConfig& config, const Error& error) {
  if (!is_of_the_way(error.code())) return error;
  std::string hint;
  if (error.code() == Code::unauthorized)
    hint = config.source.empty()
               ? ": the server does not take these credentials"
               : fmt::format(": the server does not take the credentials of {}", config.source);
  return Error(error.code(), fmt::format("{}{}: {}{}", config.server,
                                         config.source.empty() ? "" : fmt::format(" (by {})", config.source),
                                         error.message(), hint));
}

}  // namespace koord::runtime
