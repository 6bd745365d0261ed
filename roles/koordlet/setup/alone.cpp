// Alone: see alone.hpp.
#include "setup/alone.hpp"

#include <fmt/format.h>

#include "framework/keep/other_agents.hpp"
#include "setup/transports.hpp"

namespace koord::koordlet {

namespace {

/// How long one that was killed may take to go, as with the lock.
constexpr nanoseconds kPatience = std::chrono::seconds(3);
constexpr std::string_view kOwnProc = "/proc/";

}  // namespace

Result<> check_alone(const runtime::FlagValues& flags, const Place& place, Logger& log) {
  AgentPlaces places;
  places.address = flags.get("addr");
  places.procs.emplace_back(kOwnProc);
  if (place.root.proc != kOwnProc) places.procs.push_back(place.root.proc);
  if (flags.get("standalone-config").empty()) {
    KOORD_TRY(settings, transport_settings(flags, place));
    places.hook_socket = settings.hook_server.socket;
    if (settings.nri) {
      places.nri_socket = settings.nri->socket;
      places.nri_name = settings.nri->name;
    }
  }
  const bool cleanup = flags.get_bool("cleanup");
  auto alone = find_alone(places, cleanup ? nanoseconds(0) : kPatience);
  if (alone) {
    for (const std::string& text : *alone) log.warn("whether it is alone is not known", kv("why", text));
    return {};
  }
  if (!cleanup) return std::move(alone).error();
  log.warn("what this cleanup takes back somebody else may hold", kv("error", alone.error()));
  return {};
}

}  // namespace koord::koordlet
