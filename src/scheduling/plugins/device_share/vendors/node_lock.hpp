// NodeLock: an annotation of a node that says for which pod a vendor's device plugin gives out devices next.
// The device plugin takes it away when it has.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"

namespace koord::scheduling::device_share {

/// A lock is nobody's after so long: whoever should have taken it away is gone.
inline constexpr nanoseconds kLockExpires = std::chrono::minutes(5);

/// Whose a lock is: of no namespace where it is no pod's.
struct LockHolder {
  std::string_view ns, name;
};

/// "2026-01-02T03:04:05Z,NAMESPACE,NAME"
std::string lock_text(WallTime now, LockHolder holder);

/// What keeps `by` from taking the lock that has this value on the node; a success: nothing does. It is free
/// when it has expired, when its pod is gone, and when `by` has taken it before, for a binding that failed.
/// The errors are Koordinator's.
Result<> may_lock(std::string_view node, std::string_view value, LockHolder by, WallTime now,
                  const std::function<bool(LockHolder)>& exists);

/// Takes the lock at the API server, as of the node that it was judged by: when somebody has written the node
/// meanwhile, it is read and judged anew. Fails when another pod has it.
class NodeLock final : public PreBindWork {
 public:
  /// How often a node is read that others write at the same time.
  static constexpr int kTries = 5;

  /// `key` lives forever; `before` starts the message of a failure.
  NodeLock(std::string_view key, std::string before) : key_(key), before_(std::move(before)) {}
  Task<Status> run(const Context& context) override;

 private:
  Task<Result<>> take(const Context& context);

  std::string_view key_;
  std::string before_;
};

/// A binding that fails, for a reason that was known before.
class FailedWork final : public PreBindWork {
 public:
  explicit FailedWork(std::string message) : message_(std::move(message)) {}
  Task<Status> run(const Context&) override { co_return Status{StatusCode::error, message_}; }

 private:
  std::string message_;
};

}  // namespace koord::scheduling::device_share
