// What --cleanup does, and what of it an agent does whose gates are off: see agent.hpp.
#include "lifecycle/clean_up.hpp"
#include "lifecycle/stand_by.hpp"
#include "setup/agent.hpp"
#include "setup/alone.hpp"
#include "transports/hook_server/registration.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kForce = "force";  // of --cleanup

}  // namespace

/// Nothing depends on what went well before it: each part is set free whatever becomes of the others, and the
/// first error is told. That all is done is said when it is.
Task<Result<>> Agent::clean_up() {
  Result<> shaped = tc_network::withdraw(network_host(), log_);
  Result<> told = withdraw_terway();
  Result<std::size_t> freed = co_await free_groups();
  KOORD_CO_CHECK(std::move(shaped));
  KOORD_CO_CHECK(std::move(told));
  KOORD_CO_TRY(written, std::move(freed));
  if (lock_) KOORD_CO_CHECK(note_done(locked_, parts_.boot_id));
  log_.info("the cleanup is complete: nothing on this host is held back by koord",
            kv("files_written", written));
  co_return Result<>();
}

/// What it begins with is where the groups of best-effort work are: of a file, or of the host's folders.
Task<Result<std::size_t>> Agent::free_groups() {
  CleanUp cleaner({context_.executor, context_.clock, log_, *qos_, *executor_, hub_,
                   states_ ? &*states_ : nullptr, recorder_ ? &*recorder_ : nullptr});
  if (const std::string& file = context_.flags.get("standalone-config"); !file.empty()) {
    KOORD_CO_CHECK(set_up_standalone(file));
    co_return co_await cleaner.free_all(*hub_.current());
  }
  Inventory inventory;
  inventory.kubelet_root = parts_.place.kubelet_root;
  inventory.driver =
      parts_.cgroups.detect_driver(inventory.kubelet_root).value_or(host::CgroupDriver::systemd);
  inventory.be_roots = {
      host::kubepods_folder(inventory.driver, host::KubeQos::besteffort, inventory.kubelet_root)};
  Result<> unregistered = withdraw_hook_server();
  Result<std::size_t> freed =
      co_await cleaner.run(std::move(inventory), context_.flags.get("cleanup") == kForce);
  KOORD_CO_CHECK(std::move(unregistered));
  co_return freed;
}

Result<> Agent::withdraw_terway() {
  const terway_qos::Round round =
      terway_qos::withdraw(terway_qos::folder_of(parts_.place.root), terway_mark());
  terway_qos::audit(auditor_.get(), round);
  if (!round.wrong.empty()) return Error(Code::unavailable, round.wrong);
  if (!round.done.empty()) log_.info("Terway is told nothing more");
  return {};
}

/// With the policy Fail no proxy lets a container start for as long as an agent is registered that has gone.
Result<> Agent::withdraw_hook_server() {
  KOORD_TRY(settings, transport_settings(context_.flags, parts_.place));
  const auto& server = settings.hook_server;
  const hook_server::RegistrationFile file(server.folder);
  KOORD_TRY(gone, file.withdraw(server.endpoint, server.socket));
  if (gone) log_.info("proxies ask this host's agent no more", kv("removed", file.path()));
  return {};
}

}  // namespace koord::koordlet
