// The environment of the webhook server: an empty variable is as good as none, as in the original.
#include "framework/webhook/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace koord::manager {

std::string WebhookSettings::server_name() const {
  return host.empty() ? fmt::format("{}.{}.svc", service, ns) : host;
}

Result<WebhookSettings> webhook_settings(
    const std::string& flag, const std::function<std::optional<std::string>(const char*)>& environment) {
  const auto get = [&](const char* name, std::string_view otherwise) {
    std::optional<std::string> value = environment(name);
    return value && !value->empty() ? std::move(*value) : std::string(otherwise);
  };
  WebhookSettings settings;
  const std::string port = flag.empty() ? get("WEBHOOK_PORT", "9876") : flag;
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), settings.port);
  if (failed != std::errc{} || end != port.data() + port.size())
    return Error(Code::invalid, fmt::format("{}: \"{}\" is not a port, which is 0 to 65535",
                                            flag.empty() ? "WEBHOOK_PORT" : "--webhook-port", port));
  settings.host = get("WEBHOOK_HOST", "");
  settings.folder = get("WEBHOOK_CERT_DIR", "/tmp/koordinator-webhook-certs");
  settings.ns = get("POD_NAMESPACE", "koordinator-system");
  settings.secret = get("SECRET_NAME", "koordinator-webhook-certs");
  settings.service = get("SERVICE_NAME", "koordinator-webhook-service");
  settings.mutating = get("MUTATING_WEBHOOK_NAME", "koordinator-mutating-webhook-configuration");
  settings.validating = get("VALIDATING_WEBHOOK_NAME", "koordinator-validating-webhook-configuration");
  for (const auto& [name, policy] :
       {std::pair("WEBHOOK_CONFIGURATION_FAILURE_POLICY_PODS", &settings.pods_policy),
        std::pair("WEBHOOK_CONFIGURATION_FAILURE_POLICY_ELASTICQUOTAS", &settings.quotas_policy),
        std::pair("WEBHOOK_CONFIGURATION_FAILURE_POLICY_RESERVATIONS", &settings.reservations_policy)}) {
    *policy = get(name, "Ignore");
    if (*policy != "Ignore" && *policy != "Fail")
      return Error(Code::invalid,
                   fmt::format("{}: \"{}\" is neither \"Ignore\" nor \"Fail\"", name, *policy));
  }
  constexpr const char* kTimeout = "WEBHOOK_CONFIGURATION_TIMEOUT_SECONDS";
  const std::string timeout = get(kTimeout, "3");
  const auto [rest, wrong] =
      std::from_chars(timeout.data(), timeout.data() + timeout.size(), settings.timeout_seconds);
  if (wrong != std::errc{} || rest != timeout.data() + timeout.size() || settings.timeout_seconds < 1 ||
      settings.timeout_seconds > 30)
    return Error(Code::invalid, fmt::format("{}: \"{}\" is not 1 to 30 seconds", kTimeout, timeout));
  const std::string writer = get("WEBHOOK_CERT_WRITER", settings.host.empty() ? "secret" : "fs");
  if (writer != "secret" && writer != "fs")
    return Error(Code::invalid,
                 fmt::format("WEBHOOK_CERT_WRITER: \"{}\" is neither \"secret\" nor \"fs\"", writer));
  settings.in_secret = writer == "secret";
  return settings;
}

}  // namespace koord::manager
