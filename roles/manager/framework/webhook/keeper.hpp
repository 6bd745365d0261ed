// Keeps the certificates and the webhook configurations right, on every replica alike.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/webhook/certificates.hpp"
#include "framework/webhook/settings.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/async/backoff.hpp"
#include "koord/async/offload.hpp"
#include "koord/base/log.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"

namespace koord::manager {

/// One pass looks at the Secret (or the folder), makes what is missing, garbled or about to expire, has it
/// served, writes the folder, and then sees to the configurations. Passes follow what is watched, the clock,
/// and failures. Who makes certificates first wins: the API server takes one of several, and the others read
/// that one.
class WebhookKeeper {
 public:
  struct Config {
    Clock& clock;
    Logger log;
    WorkerPool& workers;
    kube::Client& client;
    WebhookSettings settings;
    /// What tells when to look: the Secret and the configurations.
    std::vector<kube::AnyInformer> watched;
    std::function<bool(std::string_view path)> served;
    /// The entries of configurations that are the manager's (see webhook_entries()).
    json::Document mutating_entries, validating_entries;
    /// From now on with these certificates; its error ends the keeper (the port is taken).
    std::function<Result<>(const Certificates&)> serve;
  };
  /// Between two passes in which nothing happened; files are looked at more often, since nobody tells of
  /// them.
  static constexpr std::chrono::seconds kPeriod{60}, kFolderPeriod{10};

  explicit WebhookKeeper(Config config);

  Task<Result<>> run();
  /// Whether a first pass has succeeded and the certificates are good now.
  Result<> ready() const;
  /// Whether API servers ask: a configuration had entries that are served when it was looked at last.
  bool asked() const { return !asking_.empty(); }

 private:
  Task<Result<bool>> pass();
  Task<Result<Certificates>> from_secret();
  Task<Result<Certificates>> from_folder();
  Task<Result<Certificates>> renew(const Certificates& old, const Error& why);
  Task<> write_folder();
  /// Both configurations with this CA; true if one was written.
  Task<Result<bool>> keep_all(const net::KeyPair& ca);
  Task<Result<bool>> keep(const api::Kind& kind, const std::string& name, const net::KeyPair& ca,
                          const json::Value& own);
  void tell(const Error& failure);

  Config config_;
  kube::DeliveryQueue queue_;
  std::optional<Certificates> held_;
  std::optional<Certificates> spare_;  // made, but the API server did not take them
  /// A new CA, and when API servers have heard of it; nothing while there is none to wait for.
  std::string announced_;
  std::optional<MonoTime> heard_at_;
  std::string before_;  // the CA whose certificates were served before these; empty: the same
  std::string problem_ = "the certificates are not there yet";  // of the last pass
  bool initialised_ = false, folder_failed_ = false;
  bool wrote_ = false;                         // in this pass
  std::set<std::string, std::less<>> asking_;  // configurations with entries
  /// Configurations written because of their conditions alone, and not seen with them since: not again.
  std::set<std::string, std::less<>> unconditional_;
  std::vector<std::string> told_;  // what was said once: names of entries and of configurations
};

}  // namespace koord::manager
