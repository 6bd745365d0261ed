// --cleanup: what agents have left is set free, once.
#include "koord/async/timer.hpp"
#include "lifecycle/stand_by.hpp"
#include "setup/agent.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kForce = "force";  // of --cleanup
constexpr nanoseconds kGrace = std::chrono::seconds(5);
/// How long it waits for a kernel that reclaims, and how often it looks.
constexpr nanoseconds kCleanupPatience = std::chrono::seconds(20),
                      kCleanupLook = std::chrono::milliseconds(20);
/// How long it waits for what the kubelet says of the node's pods.
constexpr nanoseconds kAskPatience = std::chrono::seconds(10);

}  // namespace

/// Who has which CPUs for himself, as far as somebody says so within a while.
Task<Result<>> Agent::ask_kubelet(Inventory& inventory) {
  TaskGroup asking(context_.executor, [this](std::string_view task, const Error& error) {
    log_.warn("the node's pods cannot be asked for", kv("task", task), kv("error", error));
  });
  asking.spawn("node", states_->follow_node());
  asking.spawn("pods", states_->follow_pods());
  const MonoTime deadline = context_.clock.mono() + kAskPatience;
  const auto is_known = [this] {
    const Inventory& now = *hub_.current();
    return now.pods_known && !now.own_cpus.stale;
  };
  Result<> waited;
  while (waited && !is_known() && context_.clock.mono() < deadline)
    waited = co_await sleep(context_.clock, kCleanupLook);
  if (!waited) co_await begin_cleanup();
  co_await asking.stop(context_.clock, kGrace);
  if (recorder_) co_await recorder_->stop();
  KOORD_CO_CHECK(std::move(waited));
  if (!hub_.current()->be_roots.empty()) inventory = *hub_.current();
  inventory.slo.reset();
  if (!is_known())
    for (const SourceStatus& source : sources())
      log_.warn("which CPUs are exclusively somebody's is not known", kv("source", source.name),
                kv("error", source.error.empty() ? "it did not answer" : source.error));
  co_return Result<>();
}

Task<Result<>> Agent::clean_up() {
  Inventory inventory;
  if (const std::string& file = context_.flags.get("standalone-config"); !file.empty()) {
    KOORD_CO_CHECK(set_up_standalone(file));
    inventory = *hub_.current();
  } else {
    inventory.kubelet_root = parts_.place.kubelet_root;
    inventory.driver =
        parts_.cgroups.detect_driver(inventory.kubelet_root).value_or(host::CgroupDriver::systemd);
    inventory.be_roots = {
        host::kubepods_folder(inventory.driver, host::KubeQos::besteffort, inventory.kubelet_root)};
    if (states_) KOORD_CO_CHECK(co_await ask_kubelet(inventory));
    if (context_.flags.get("cleanup") == kForce) {
      const bool known = inventory.pods_known && !inventory.own_cpus.stale;
      if (const std::string narrow = known ? "" : qos_->narrow_groups(inventory); !narrow.empty())
        log_.warn(
            "--cleanup=force widens sets of CPUs although it is not known which CPUs are exclusively "
            "somebody's: best-effort work may run on CPUs of a pod from now on",
            kv("groups", narrow));
      inventory.pods_known = true;
      inventory.own_cpus.stale = false;
    }
  }
  Result<std::size_t> freed = qos_->cleanup(inventory);
  // What the kernel reclaims for is written off the loop; then what had to wait for it is.
  const MonoTime deadline = context_.clock.mono() + kCleanupPatience;
  while (executor_->pending() > 0 && context_.clock.mono() < deadline) {
    KOORD_CO_CHECK(co_await sleep(context_.clock, kCleanupLook));
    if (executor_->pending() == 0) freed = qos_->cleanup(inventory);
  }
  KOORD_CO_TRY(written, std::move(freed));
  if (lock_) KOORD_CO_CHECK(note_done(locked_, parts_.boot_id));
  log_.info("nothing of this agent's is throttled any more", kv("files_written", written));
  co_return Result<>();
}

}  // namespace koord::koordlet
