#include "drive/catch_up.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <string>

#include "koord/async/backoff.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"

namespace koord::scheduler {

namespace {

constexpr BackoffPolicy kRetry{
    .initial = std::chrono::milliseconds{200}, .factor = 2, .cap = std::chrono::seconds{5}, .jitter = 0.5};

struct Follower {
  kube::AnyInformer informer;
  bool behind = true;
  std::string error;  // of the last request
};

Task<Result<>> follow(Clock& clock, Follower& one) {
  Backoff retry(kRetry);
  for (;;) {
    const Result<> done = co_await one.informer.catch_up();
    if (done) {
      one.behind = false;
      co_return done;
    }
    if (done.error().code() == Code::cancelled) co_return done;
    one.error = done.error().message();
    KOORD_CO_CHECK(co_await sleep(clock, retry.next()));
  }
}

Task<Result<>> all_of(TaskGroup& group, Clock& clock, nanoseconds limit) {
  const Result<> joined = co_await with_timeout(clock, limit, group.join());
  if (!joined && joined.error().code() != Code::timeout) co_return joined;
  co_return Result<>();
}

}  // namespace

Task<Result<>> catch_up(Clock& clock, Logger log, std::vector<kube::AnyInformer> informers,
                        nanoseconds limit) {
  std::vector<Follower> followers;
  followers.reserve(informers.size());
  for (kube::AnyInformer& informer : informers) followers.push_back({std::move(informer), true, {}});
  TaskGroup group(co_await asio::this_coro::executor);
  for (Follower& one : followers) group.spawn(one.informer.status().name, follow(clock, one));
  const MonoTime began = clock.mono();
  Task<Result<>> done = all_of(group, clock, limit);
  KOORD_CO_CHECK(co_await with_cleanup(std::move(done), group.stop(clock, std::chrono::seconds(2))));
  std::vector<std::string> behind;
  for (const Follower& one : followers)
    if (one.behind)
      behind.push_back(one.error.empty() ? one.informer.status().name
                                         : fmt::format("{} ({})", one.informer.status().name, one.error));
  if (!behind.empty())
    log.warn(
        "the API server has told nothing of some collections since the lease was taken, and "
        "--sync-hard-timeout has passed: scheduling begins, and what the leader before bound last may be "
        "missing in it; look at the API server's watches",
        kv("informers", fmt::format("{}", fmt::join(behind, ", "))));
  else
    log.info("what the leader before wrote is known: scheduling begins",
             kv("seconds", std::chrono::duration<double>(clock.mono() - began).count()));
  co_return Result<>();
}

}  // namespace koord::scheduler
