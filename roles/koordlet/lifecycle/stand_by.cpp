// Standing by: see stand_by.hpp.
#include "lifecycle/stand_by.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "koord/api/values/time.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/log.hpp"
#include "koord/base/service_manager.hpp"
#include "koord/base/system.hpp"
#include "koord/kube/event_recorder.hpp"

namespace koord::koordlet {

namespace {

/// How often an agent looks whether it is asked to end, or may start.
constexpr nanoseconds kLook = std::chrono::seconds(1);
/// How long one that was killed may take to go.
constexpr nanoseconds kLockPatience = std::chrono::seconds(3);
/// In the lock, of who cleans up: nobody asks it to end.
constexpr std::string_view kCleansUp = ", cleaning up";
/// How often a cleanup looks whether the agent has ended.
constexpr int kRetryMs = 50;
/// How often the event says it again; the recorder makes one of them.
constexpr nanoseconds kSayAgain = std::chrono::minutes(5);

std::string why(const StandingBy& standing) {
  const StandDown& said = standing.said;
  return fmt::format(
      "the agent stands by: {} asked it at {} to end; to start it again: {}, or remove {}{}", said.by,
      said.time, kUndo, standing.file,
      said.done ? ""
                : ". The cleanup has not come to its end, so that something may be held back still: run "
                  "koord --role=koordlet --cleanup again");
}

class StandByRole final : public runtime::Role {
 public:
  StandByRole(runtime::RoleContext& context, kube::Client* client, StandingBy standing, std::string boot_id,
              std::string node)
      : context_(context),
        standing_(std::move(standing)),
        boot_id_(std::move(boot_id)),
        node_(std::move(node)),
        service_(&environment) {
    kube::EventRecorderConfig config;
    config.controller = "koordlet";
    config.instance = fmt::format("koordlet-{}", node_);
    config.connections = 1;
    if (client != nullptr) recorder_.emplace(context.executor, *client, context.clock, std::move(config));
    context_.health.add(
        "stands-by", [this]() -> Result<> { return Error(Code::unavailable, why(standing_)); },
        runtime::HealthChecks::readyz);
  }

  Task<Result<>> run() override {
    say();
    tell("READY=1");
    Result<> waited = co_await wait();
    if (!waited) co_await begin_cleanup();
    tell("STOPPING=1");
    if (recorder_) co_await recorder_->stop();
    KOORD_CO_CHECK(std::move(waited));
    context_.log.info("the agent may start again: it ends, to be started anew");
    context_.finish();
    co_return co_await ended_.wait();
  }

 private:
  /// Until nobody asks any more.
  Task<Result<>> wait() {
    const nanoseconds watched = service_.watchdog().value_or(kLook * 3) / 3;
    MonoTime say_again = context_.clock.mono() + kSayAgain;
    for (;;) {
      KOORD_CO_CHECK(co_await sleep(context_.clock, std::min(kLook, watched)));
      tell("WATCHDOG=1");
      const auto now = read_stand_down(standing_.file, boot_id_);
      if (!now || !*now) co_return Result<>();
      const bool other = std::exchange(standing_.said.done, (*now)->done) != (*now)->done;
      if (!other && context_.clock.mono() < say_again) continue;
      say_again = context_.clock.mono() + kSayAgain;
      say();
    }
  }

  void say() {
    const std::string text = why(standing_);
    context_.log.warn(text);
    tell(fmt::format("STATUS={}", text));
    if (!recorder_) return;
    kube::EventRecord event;
    event.regarding = {.version = "v1", .kind = "Node", .name = node_, .uid = node_};  // as the kubelet's are
    event.type = kube::EventType::warning;
    event.reason = "AgentStandsBy";
    event.action = "CleanedUp";
    event.note = text;
    recorder_->record(event);
  }

  void tell(std::string_view state) {
    if (const auto told = service_.tell(state); !told && !untold_) {
      untold_ = true;
      context_.log.warn("systemd cannot be told", kv("what", state), kv("error", told.error()));
    }
  }

  runtime::RoleContext& context_;
  StandingBy standing_;
  std::string boot_id_, node_;
  ServiceManager service_;
  std::optional<kube::EventRecorder> recorder_;
  bool untold_ = false;
  Event ended_;
};

class UndoRole final : public runtime::Role {
 public:
  UndoRole(runtime::RoleContext& context, StateDirs dirs) : context_(context), dirs_(std::move(dirs)) {}

  Task<Result<>> run() override {
    bool found = false;
    for (const std::string& lock : dirs_.locks) {
      const std::string path = stand_down_path(lock);
      KOORD_CO_TRY(removed, remove_stand_down(path));
      if (removed) context_.log.info("the agent that stands by may start again", kv("removed", path));
      found = found || removed;
    }
    if (!found) context_.log.info("nothing keeps an agent of this host from starting");
    context_.finish();
    co_return co_await ended_.wait();
  }

 private:
  runtime::RoleContext& context_;
  StateDirs dirs_;
  Event ended_;
};

}  // namespace

std::optional<StandingBy> must_stand_by(const StateDirs& dirs, const std::string& boot_id, Logger& log) {
  for (const std::string& lock : dirs.locks) {
    std::string path = stand_down_path(lock);
    const auto said = read_stand_down(path, boot_id);
    if (!said) {
      log.warn("cannot read whether this agent shall stand by: it starts", kv("error", said.error()));
    } else if (*said && (*said)->pod == dirs.pod) {
      return StandingBy{std::move(path), **said};
    }
  }
  return std::nullopt;
}

std::unique_ptr<runtime::Role> stand_by_role(runtime::RoleContext& context, kube::Client* client,
                                             StandingBy standing, std::string boot_id, std::string node) {
  return std::make_unique<StandByRole>(context, client, std::move(standing), std::move(boot_id),
                                       std::move(node));
}

std::unique_ptr<runtime::Role> undo_role(runtime::RoleContext& context, StateDirs dirs) {
  return std::make_unique<UndoRole>(context, std::move(dirs));
}

Task<Result<std::string>> asked_to_end(Clock& clock, std::string lock, std::string boot_id, std::string pod) {
  const std::string path = stand_down_path(lock);
  for (;;) {
    KOORD_CO_CHECK(co_await sleep(clock, kLook));
    const auto said = read_stand_down(path, boot_id);
    if (said && *said && (*said)->pod == pod) co_return (*said)->by;
  }
}

/// Two cleanups may ask at the same time, and a file has one writer: whose text is in it does not matter.
Result<> ask_to_end(const std::string& path, const std::string& boot_id, const StandDown& said) {
  constexpr int kTries = 10;
  for (int n = 1;; ++n) {
    Result<> written = write_stand_down(path, boot_id, said);
    if (written) return written;
    const auto there = read_stand_down(path, boot_id);
    if (there && *there && (*there)->pod == said.pod) return {};
    if (n == kTries) return written;
    // Not in step with the other one.
    const auto odd = std::chrono::steady_clock::now().time_since_epoch().count() / 1000 % kRetryMs;
    (void)::poll(nullptr, 0, 1 + static_cast<int>(odd));
  }
}

/// Nothing was changed: the cleanup of a host whose agent runs, or may start again, is none.
Error cannot_ask(std::string_view what, const std::string& holder, const std::string& lock,
                 const Error& why) {
  return Error(
      Code::already_exists,
      fmt::format("the agent of this host {}: {}: {} ({}). Make room for the file or end the agent for good, "
                  "and try again; nothing was changed",
                  what, why.message(), holder, lock));
}

Result<HostLock> take_from_agent(const std::string& lock, const CleanupAsking& asking, Clock& clock,
                                 Logger& log) {
  const std::string path = stand_down_path(lock), holder = HostLock::holder(lock),
                    me = fmt::format("{}{}", lock_holder(asking.node, ""), kCleansUp);
  const StandDown said{
      .time = api::Time(clock.now()).to_string(),
      .by = fmt::format("koord --cleanup (pid {}, {})", ::getpid(), lock_holder(asking.node, asking.pod)),
      .pod = pod_of_holder(holder)};
  auto taken = HostLock::take(lock, me, std::min(kLockPatience, asking.patience));
  if (taken) {
    if (said.pod.empty()) return taken;
    if (const auto asked = ask_to_end(path, asking.boot_id, said); !asked)
      return cannot_ask("may be started again and cannot be told to stand by", holder, lock, asked.error());
    return taken;
  }
  if (taken.error().code() != Code::already_exists || holder.ends_with(kCleansUp)) return taken;
  if (const auto asked = ask_to_end(path, asking.boot_id, said); !asked)
    return cannot_ask("cannot be asked to end", holder, lock, asked.error());
  log.info("asking the agent of this host to end", kv("agent", holder), kv("file", path));
  const auto deadline = std::chrono::steady_clock::now() + asking.patience;
  while (!taken && taken.error().code() == Code::already_exists &&
         std::chrono::steady_clock::now() < deadline) {
    (void)::poll(nullptr, 0, kRetryMs);
    taken = HostLock::take(lock, me, nanoseconds(0));
  }
  if (taken) return taken;
  const auto removed = remove_stand_down(path);
  return Error(Code::timeout,
               fmt::format("the agent of this host was asked to end and has not within {} s: {} ({}). It is "
                           "stopped, hangs, or is "
                           "of a version that cannot be asked: end it, and try again; nothing was changed{}",
                           std::chrono::ceil<std::chrono::seconds>(asking.patience).count(), holder, lock,
                           removed ? "" : fmt::format(", but {}", removed.error().message())));
}

Result<> note_done(const std::string& lock, const std::string& boot_id) {
  const std::string path = stand_down_path(lock);
  KOORD_TRY(said, read_stand_down(path, boot_id));
  if (!said || said->done) return {};
  said->done = true;
  return write_stand_down(path, boot_id, *said);
}

}  // namespace koord::koordlet
