// CleanUp: see clean_up.hpp.
#include "lifecycle/clean_up.hpp"

#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kGrace = std::chrono::seconds(5);
/// How long it waits for a kernel that reclaims, and how often it looks.
constexpr nanoseconds kCleanupPatience = std::chrono::seconds(20),
                      kCleanupLook = std::chrono::milliseconds(20);
/// How long it waits for what the kubelet says of the node's pods.
constexpr nanoseconds kAskPatience = std::chrono::seconds(10);

bool is_known(const Inventory& inventory) { return inventory.pods_known && !inventory.own_cpus.stale; }

}  // namespace

/// Who has which CPUs for himself, as far as somebody says so within a while.
Task<Result<>> CleanUp::ask_kubelet(Inventory& inventory) {
  TaskGroup asking(parts_.executor, [this](std::string_view task, const Error& error) {
    parts_.log.warn("the node's pods cannot be asked for", kv("task", task), kv("error", error));
  });
  asking.spawn("node", parts_.states->follow_node());
  asking.spawn("pods", parts_.states->follow_pods());
  const MonoTime deadline = parts_.clock.mono() + kAskPatience;
  Result<> waited;
  while (waited && !is_known(*parts_.hub.current()) && parts_.clock.mono() < deadline)
    waited = co_await sleep(parts_.clock, kCleanupLook);
  if (!waited) co_await begin_cleanup();
  co_await asking.stop(parts_.clock, kGrace);
  if (parts_.events != nullptr) co_await parts_.events->stop();
  KOORD_CO_CHECK(std::move(waited));
  if (!parts_.hub.current()->be_roots.empty()) inventory = *parts_.hub.current();
  inventory.slo.reset();
  if (!is_known(*parts_.hub.current()))
    for (const SourceStatus& source : parts_.states->sources())
      parts_.log.warn("which CPUs are exclusively somebody's is not known", kv("source", source.name),
                      kv("error", source.error.empty() ? "it did not answer" : source.error));
  co_return Result<>();
}

void CleanUp::widen_unknown(Inventory& inventory) {
  if (const std::string narrow = is_known(inventory) ? "" : parts_.qos.narrow_groups(inventory);
      !narrow.empty())
    parts_.log.warn(
        "--cleanup=force widens sets of CPUs although it is not known which CPUs are exclusively "
        "somebody's: best-effort work may run on CPUs of a pod from now on",
        kv("groups", narrow));
  inventory.pods_known = true;
  inventory.own_cpus.stale = false;
}

Task<Result<std::size_t>> CleanUp::run(Inventory inventory, bool force) {
  if (parts_.states != nullptr) KOORD_CO_CHECK(co_await ask_kubelet(inventory));
  if (force) widen_unknown(inventory);
  co_return co_await free_all(inventory);
}

Task<Result<std::size_t>> CleanUp::free_all(const Inventory& inventory) {
  Result<std::size_t> freed = parts_.qos.cleanup(inventory);
  // What the kernel reclaims for is written off the loop; then what had to wait for it is.
  const MonoTime deadline = parts_.clock.mono() + kCleanupPatience;
  while (parts_.writing.pending() > 0 && parts_.clock.mono() < deadline) {
    KOORD_CO_CHECK(co_await sleep(parts_.clock, kCleanupLook));
    if (parts_.writing.pending() == 0) freed = parts_.qos.cleanup(inventory);
  }
  co_return freed;
}

}  // namespace koord::koordlet
