// How the agent is a plugin of the container runtime: see nri_settings.hpp.
#include "setup/nri_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::koordlet {

namespace {

/// Waits between connections double without end in the original: a runtime that was away for an hour would be
/// found an hour later.
constexpr nanoseconds kLongestWait = std::chrono::seconds(30);

Result<nanoseconds> positive(const runtime::FlagValues& flags, std::string_view name) {
  const nanoseconds value = flags.get_duration(name);
  if (value.count() > 0) return value;
  return Error(Code::invalid, fmt::format("--{}: {} is not a duration above 0", name, flags.get(name)));
}

}  // namespace

Result<std::optional<nri::Settings>> nri_settings(const runtime::FlagValues& flags, const Place& place) {
  if (!flags.get_bool("enable-nri-runtime-hook")) return std::optional<nri::Settings>();
  nri::Settings settings;
  const std::string& socket = flags.get("runtime-hooks-nri-socket-path");
  if (socket.empty())
    return Error(Code::invalid,
                 "--runtime-hooks-nri-socket-path: empty; --enable-nri-runtime-hook=false "
                 "switches NRI off");
  settings.socket = fmt::format("{}/{}", place.root.var_run, socket);
  settings.name = flags.get("runtime-hooks-nri-plugin-name");
  settings.index = flags.get("runtime-hooks-nri-plugin-index");
  KOORD_TRY(timeout, positive(flags, "runtime-hooks-nri-connect-timeout"));
  settings.connect_timeout = timeout;
  KOORD_TRY(initial, positive(flags, "runtime-hooks-nri-backoff-duration"));
  KOORD_TRY(cap, positive(flags, "runtime-hooks-nri-backoff-cap"));
  settings.backoff.cap = std::min(cap, kLongestWait);
  settings.backoff.initial = std::min(initial, settings.backoff.cap);
  settings.backoff.factor = flags.get_real("runtime-hooks-nri-backoff-factor");
  if (!(settings.backoff.factor >= 1))
    return Error(Code::invalid, fmt::format("--runtime-hooks-nri-backoff-factor: {} is not 1 or more",
                                            settings.backoff.factor));
  const std::int64_t steps = flags.get_int("runtime-hooks-nri-backoff-steps");
  if (steps < 1)
    return Error(Code::invalid, fmt::format("--runtime-hooks-nri-backoff-steps: {} is not 1 or more", steps));
  settings.backoff_steps = static_cast<std::uint64_t>(steps);
  KOORD_CHECK(nri::check(settings));
  return std::optional(std::move(settings));
}

}  // namespace koord::koordlet
