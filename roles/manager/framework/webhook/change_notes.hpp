// ChangeNotes: who changes what the manager works by, noted as it is reviewed.
#pragma once

#include <string>

#include "framework/webhook/admission.hpp"
#include "koord/base/log.hpp"
#include "koord/runtime/audit.hpp"

namespace koord::manager {

/// Of ElasticQuotas, of profiles of pods and of quotas, and of the one ConfigMap with the strategies: a
/// record and a line of the log with the user, the object and the names of what differs, never what it says.
/// What the scheduler and the manager write into quotas without end (requests, usage) is not noted. Never
/// waits and never fails: a review is not decided otherwise for it. A review is what somebody says who
/// reaches the port; whether the object was stored in the end is not known here.
class ChangeNotes {
 public:
  /// Both outlive it. `ns`, `name`: the ConfigMap's.
  ChangeNotes(runtime::Audit& audit, const Logger& log, std::string ns, std::string name)
      : audit_(audit), log_(log), ns_(std::move(ns)), name_(std::move(name)) {}

  /// `known`: the verdict is what the API server is told; else its failurePolicy decides.
  void note(const AdmissionRequest& request, const Verdict& verdict, bool known) noexcept;

 private:
  void write(const AdmissionRequest& request, const Verdict& verdict, bool known);

  runtime::Audit& audit_;
  const Logger& log_;
  const std::string ns_, name_;
};

}  // namespace koord::manager
