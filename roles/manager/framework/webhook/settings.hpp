// Where the webhook server listens and where its certificates are kept: from the environment, as upstream has
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "koord/base/result.hpp"

namespace koord::manager {

struct WebhookSettings {
  std::uint16_t port = 9876;  // --webhook-port, else WEBHOOK_PORT; 0: no webhooks
  std::string host;       // WEBHOOK_HOST: API servers reach it by this name or address; empty: by the service
  std::string folder;     // WEBHOOK_CERT_DIR: where the certificates are written as files
  bool in_secret = true;  // else the folder is where they are kept (WEBHOOK_CERT_WRITER)
  std::string ns;         // POD_NAMESPACE: of the Secret and the service
  std::string secret;     // SECRET_NAME
  std::string service;    // SERVICE_NAME
  std::string mutating, validating;  // {MUTATING,VALIDATING}_WEBHOOK_NAME
  /// WEBHOOK_CONFIGURATION_FAILURE_POLICY_PODS: what becomes of pods while nobody answers, in configurations
  /// whose entries are the manager's: Ignore (they are created) or Fail (they are not).
  std::string pods_policy = "Ignore";
  /// WEBHOOK_CONFIGURATION_FAILURE_POLICY_{ELASTICQUOTAS,RESERVATIONS}: the same of these. Of nodes and all
  /// else it is Ignore: without a manager no node could come, and without a node no manager.
  std::string quotas_policy = "Ignore", reservations_policy = "Ignore";
  /// WEBHOOK_CONFIGURATION_TIMEOUT_SECONDS, 1 to 30: how long API servers wait for an answer. Who creates a
  /// pod waits no longer for a manager that is gone.
  int timeout_seconds = 3;

  /// What the certificate is for.
  std::string server_name() const;
};

/// `environment` is koord::environment, or a test's; `port` the flag's value, which counts more. An error
/// names the variable or the flag.
Result<WebhookSettings> webhook_settings(
    const std::string& port, const std::function<std::optional<std::string>(const char*)>& environment);

}  // namespace koord::manager
