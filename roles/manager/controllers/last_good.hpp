// LastGood: what the keys of slo-controller-config said when they could be read last, kept in a ConfigMap of
// its own, so that a manager that is started anew knows it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/async/event.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"

namespace koord::manager {

/// Belongs to the event loop's thread.
class LastGood {
 public:
  struct Parts {
    Clock& clock;
    Logger log;
    kube::Client& client;
    kube::ObjectKey key;  // of the ConfigMap that is kept
    std::function<bool()> may_write;
  };
  explicit LastGood(Parts parts) : parts_(std::move(parts)) {}

  /// The ConfigMap as it is; nothing where there is none, or where it may not be read (the log says so).
  /// Waits until the API server answers: Code::cancelled is the only error.
  Task<Result<std::optional<api::ConfigMap>>> read();
  /// From now on it shall say that.
  void want(const api::StringMap& texts);
  /// Writes what is wanted, again and again until it is written; a task of the role.
  Task<Result<>> keep();

 private:
  Task<Result<>> write();

  Parts parts_;
  std::optional<api::ConfigMap> stored_;
  api::StringMap wanted_;
  Event changed_;
};

}  // namespace koord::manager
