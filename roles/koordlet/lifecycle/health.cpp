// Health: see health.hpp.
#include "lifecycle/health.hpp"

#include <fmt/format.h>

#include <utility>

#include "koord/async/timer.hpp"
#include "koord/base/system.hpp"

namespace koord::koordlet {

namespace {

/// An agent whose list of pods is older is not ready.
constexpr nanoseconds kOldList = std::chrono::minutes(5);
/// The agent is not well when so many ticks are missing.
constexpr int kMissedTicks = 30;

}  // namespace

Health::Health(Parts parts) : parts_(std::move(parts)), service_(&environment) {}

Result<> Health::ticks() const {
  const std::optional<MonoTime> last = parts_.last_tick();
  if (!last || parts_.clock.mono() - *last < kMissedTicks * parts_.interval) return {};
  return Error(Code::timeout, "no sample was taken for several collection intervals");
}

Result<> Health::inventory() const {
  std::string why;
  for (const SourceStatus& source : parts_.sources())
    if (!source.ok && !source.error.empty()) why += fmt::format(": {}: {}", source.name, source.error);
  if (!parts_.hub.current()->pods_known)
    return Error(Code::unavailable, fmt::format("the pods of the node are not known yet{}", why));
  const std::optional<MonoTime> listed = parts_.pods_listed();
  if (listed && parts_.clock.mono() - *listed > kOldList)
    return Error(Code::unavailable, fmt::format("the pods of the node have not been listed for long{}", why));
  return {};
}

void Health::tell_service_manager(std::string_view state) {
  if (const auto told = service_.tell(state); !told)
    parts_.log.warn("systemd cannot be told", kv("what", state), kv("error", told.error()));
}

Task<Result<>> Health::feed_watchdog() {
  for (;;) {
    if (ticks()) tell_service_manager("WATCHDOG=1");
    KOORD_CO_CHECK(co_await sleep(parts_.clock, *service_.watchdog() / 3));
  }
}

}  // namespace koord::koordlet
