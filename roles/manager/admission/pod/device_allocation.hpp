// Who says which devices a pod is given: whoever may bind it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/webhook/admission.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"

namespace koord::manager {

/// Who asks for a change, as the API server knows him: authorizers may look at all of it.
struct Subject {
  std::string user, uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

/// Whether somebody may create bindings of pods of that namespace: a SubjectAccessReview. The client outlives
/// the task.
Task<Result<bool>> may_bind(kube::Client& client, Subject subject, std::string ns);

/// /validate-pod-devices: the annotation device-allocated of a pod is changed by those who may bind pods of
/// its namespace (schedulers, administrators), and by nobody else. Equal questions at a time are one. Where
/// the manager lacks the right to ask, the change passes: pods must not wait for their devices because of it,
/// and agents check what they give anyway. Where no answer comes it is refused, and is tried again by
/// clients: otherwise whoever makes the API server slow has others' devices. This locks nobody out for long:
/// nothing but this annotation is asked about, and a pod cannot be bound either while the API server does not
/// answer.
class DevicesValidating final : public ValidatingHandler {
 public:
  struct Parts {
    Clock& clock;  // outlives what is asked
    Logger log;
    metrics::Registry& registry;
    std::function<Task<Result<bool>>(Subject subject, std::string ns)> may_bind;
  };
  /// For so long a yes is good, and a no; so long an answer is awaited, and so much shorter than the review
  /// may wait.
  static constexpr std::chrono::milliseconds kGood{10'000}, kBad{2'000}, kPatience{2'000}, kMargin{100};
  /// Of those who were told yes, and of those who were told no.
  static constexpr std::size_t kMost = 1024;
  /// Bytes of a subject; one that is longer is refused, since less of it may be allowed more.
  static constexpr std::size_t kLongestSubject = std::size_t{64} << 10;

  explicit DevicesValidating(Parts parts);

  Verdict handle(const AdmissionRequest& request, const PluginTimes& times) override;

  static const metrics::Table kMetrics;

 private:
  struct State;
  static Task<Result<bool>> answer(std::shared_ptr<State> state, Subject subject, std::string ns,
                                   std::string key, MonoTime end);
  static Task<Result<Verdict>> ask(std::shared_ptr<State> state, Subject subject, std::string ns,
                                   std::string key, MonoTime until);

  std::shared_ptr<State> state_;
};

}  // namespace koord::manager
