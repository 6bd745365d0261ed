// Who says which devices a pod is given: whoever may bind it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/webhook/admission.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"

namespace koord::manager {

/// Who asks for a change, as the API server knows him.
struct Subject {
  std::string user;
  std::vector<std::string> groups;
};

/// Whether somebody may create bindings of pods of that namespace: a SubjectAccessReview. The client outlives
/// the task.
Task<Result<bool>> may_bind(kube::Client& client, Subject subject, std::string ns);

/// /validate-pod-devices: the annotation device-allocated of a pod is changed by those who may bind pods of
/// its namespace (schedulers, administrators), and by nobody else. Where that cannot be asked (a right is
/// missing, the API server does not answer) the change passes, which the log says once for each reason: pods
/// must not wait for their devices because of it, and agents check what they give anyway.
class DevicesValidating final : public ValidatingHandler {
 public:
  struct Parts {
    Clock& clock;  // outlives what is asked
    Logger log;
    std::function<Task<Result<bool>>(Subject subject, std::string ns)> may_bind;
  };
  /// For so long a yes is good, so long an answer is awaited.
  static constexpr std::chrono::seconds kGood{10}, kPatience{2};
  /// Of those who were told yes.
  static constexpr std::size_t kMost = 1024;

  explicit DevicesValidating(Parts parts);

  Verdict handle(const AdmissionRequest& request, const PluginTimes& times) override;

 private:
  struct State;
  static Task<Result<Verdict>> ask(std::shared_ptr<State> state, Subject subject, std::string ns,
                                   std::string key);

  std::shared_ptr<State> state_;
};

}  // namespace koord::manager
