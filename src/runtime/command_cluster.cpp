// The cluster of a command: see command_cluster.hpp.
#include "koord/runtime/command_cluster.hpp"

#include <fmt/format.h>

#include <string>

#include "koord/base/system.hpp"
#include "koord/base/version.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::runtime {

namespace {

bool is_no_answer_of_an_api(const Error& error) {
  return error.code() == Code::parse || (error.code() == Code::not_found && !is_missing_object(error));
}

/// Of the way to the server, of who asked or answered, or of what is not there: it may be elsewhere.
bool is_of_the_way(const Error& error) {
  const Code code = error.code();
  return code == Code::forbidden || code == Code::not_found || is_no_answer_of_an_api(error) ||
         (retriable(code) && code != Code::conflict && code != Code::gone);
}

std::string what_to_do(const kube::ClientConfig& config, const Error& error) {
  if (is_no_answer_of_an_api(error))
    return ": is that a Kubernetes API server, and are the kinds installed (koord crds prints them)?";
  switch (error.code()) {
    case Code::unauthorized:
      return fmt::format(
          ": the server does not take {}",
          config.source.empty() ? "these credentials" : fmt::format("the credentials of {}", config.source));
    case Code::forbidden: return ": ask for that right, or as another user (--kubeconfig, --context)";
    case Code::unavailable:
    case Code::timeout: return ": does it run, and is that its address?";
    default: return "";
  }
}

}  // namespace

Result<kube::ClientConfig> command_config(const FlagValues& flags, std::string_view command) {
  KOORD_TRY(config, kube::find_config(flags.get("kubeconfig"), flags.get("context"), &environment));
  config.user_agent = fmt::format("koord-{}/{}", command, build_info().version);
  return std::move(config);
}

bool is_missing_object(const Error& error) {
  return error.code() == Code::not_found && error.message().find("HTTP status ") == std::string::npos;
}

Error at_server(const kube::ClientConfig& config, const Error& error) {
  if (!is_of_the_way(error)) return error;
  return Error(error.code(), fmt::format("{}{}: {}{}", config.server,
                                         config.source.empty() ? "" : fmt::format(" (by {})", config.source),
                                         error.message(), what_to_do(config, error)));
}

}  // namespace koord::runtime
