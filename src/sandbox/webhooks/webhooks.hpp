// Webhooks: asks admission webhooks about writes, as kube-apiserver does, and lets the writes go on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "koord/async/task_group.hpp"
#include "sandbox/api/api.hpp"
#include "sandbox/webhooks/caller.hpp"
#include "sandbox/webhooks/session.hpp"

namespace koord::sandbox {

/// One thread; while a webhook is waited for, everything else goes on. `verbs` and `caller` must outlive it,
/// and stop() must have completed before it is destroyed, or the executor's context no longer runs.
class Webhooks {
 public:
  Webhooks(asio::any_io_executor executor, Verbs& verbs, Caller& caller);

  /// No webhook is configured: nothing needs to be awaited.
  bool idle() { return !hooks_.any(); }
  /// Calls `run(Gate*)`, and again for as long as webhooks have to be asked about what it writes. What it
  /// returns at last counts; warnings are added to `warnings`.
  template <class Run>
  auto reviewed(Run run, std::vector<std::string>* warnings = nullptr)
      -> Task<std::invoke_result_t<Run&, Gate*>> {
    auto session = std::make_shared<Session>(hooks_, verbs_.registry());
    const MonoTime until = verbs_.clock().mono() + kRequest;
    for (;;) {
      auto result = run(session.get());
      if (!session->waiting()) {
        if (warnings) *warnings = session->warnings();
        co_return result;
      }
      co_await decide(session, until);
    }
  }
  /// A request to the API in this way.
  Task<Reply> handle(Api& api, net::Request request);
  /// For the sandbox's own controllers, who are clients like any other: creates, and tells what became of it,
  /// at once where no webhook is asked.
  using Done = std::function<void(const Outcome<ObjectPtr>&)>;
  void create(const Kind& kind, std::string ns, json::Document doc, Done done);
  Task<> stop();

 private:
  /// What kube-apiserver gives a write in all.
  static constexpr std::chrono::seconds kRequest{34};

  struct HookAnswer {
    enum class End : std::uint8_t { allowed, denied, not_called, broken };
    End end = End::broken;
    std::optional<Failure> failure;  // unless it was allowed
    std::string patch = {}, patch_type = {};
  };
  using QuestionPtr = std::shared_ptr<Session::Question>;
  using SessionPtr = std::shared_ptr<Session>;

  Task<> decide(SessionPtr session, MonoTime until);
  Task<> mutate(SessionPtr session, QuestionPtr question, MonoTime until);
  Task<> validate(SessionPtr session, QuestionPtr question, MonoTime until);
  Task<HookAnswer> ask(SessionPtr session, HookPtr hook, Hook::Taken taken, QuestionPtr question,
                       bool mutating, MonoTime until);
  Task<> create_reviewed(std::shared_ptr<const Kind> kind, std::string ns, json::Document doc, Done done);
  bool apply_patch(const Hook& hook, const Kind& form, Subject& subject, HookAnswer& asked) const;

  Verbs& verbs_;
  Caller& caller_;
  Hooks hooks_;
  TaskGroup tasks_;
};

}  // namespace koord::sandbox
