// Hooks: the webhook configurations of a store, compiled: which webhook is asked about what.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/admission/match_conditions.hpp"
#include "sandbox/select/selection.hpp"
#include "sandbox/webhooks/review.hpp"

namespace koord::sandbox {

/// Where a webhook listens: `url`, or a Service.
struct HookClient {
  std::string url;  // empty: the service
  std::string service_ns, service, path;
  std::int64_t port = 443;  // of the service
  std::string ca_pem;       // empty: the system's certificates
};

/// One webhook of a configuration.
class Hook {
 public:
  using KindPtr = std::shared_ptr<const Kind>;

  /// Nothing of it is checked again: the configuration was validated when it was written. `uid` tells it from
  /// all others.
  Hook(const json::Value& webhook, std::string uid);

  struct Taken {
    KindPtr form;        // in which it wants to see the object; null: it is not asked about it
    std::string broken;  // why its conditions cannot say that, which refuses the request; empty: they can
  };
  /// It costs what its conditions cost.
  Taken takes(const Subject& subject, const Registry& registry) const;
  /// The form, whatever its conditions say.
  KindPtr selects(const Subject& subject, const Registry& registry) const;
  /// The same by the rules alone, whatever the object and its namespace are.
  KindPtr rules_take(const Subject& subject, const Registry& registry) const;

  const std::string uid, name;
  HookClient client;
  bool ignores_failures = false;  // failurePolicy: Ignore
  bool reinvoked = false;         // reinvocationPolicy: IfNeeded
  bool dry_run_safe = false;      // sideEffects: None or NoneOnDryRun
  std::chrono::seconds timeout{10};
  std::string version;  // of AdmissionReview: "v1", "v1beta1"; empty: none that we know

 private:
  struct Rule {
    std::vector<std::string> operations, groups, versions, resources;
    std::string scope;
    bool matches(const Subject& subject, const Kind& form) const;
  };
  bool in_namespace(const Subject& subject, const Registry& registry) const;
  bool about_object(const Subject& subject) const;

  std::vector<Rule> rules_;
  Selection namespaces_, objects_;
  MatchConditions conditions_;
  bool equivalent_ = true;
};
using HookPtr = std::shared_ptr<const Hook>;

/// All of them, read again when a configuration has changed. One thread.
class Hooks {
 public:
  explicit Hooks(const Registry& registry);

  /// In the order in which they are asked: by the name of the configuration, then as it lists them.
  const std::vector<HookPtr>& mutating() { return current(mutating_); }
  const std::vector<HookPtr>& validating() { return current(validating_); }
  bool any() { return !mutating().empty() || !validating().empty(); }
  /// What webhooks are never asked about.
  static bool is_exempt(const Kind& kind) { return kind.group == "admissionregistration.k8s.io"; }

 private:
  struct Family {
    const Collection* configurations;
    std::uint64_t seen = UINT64_MAX;  // changes
    std::vector<HookPtr> hooks = {};
  };
  static const std::vector<HookPtr>& current(Family& family);

  Family mutating_, validating_;
};

}  // namespace koord::sandbox
