// Which pods of a node a reservation takes over to have room there: a pure function.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/plugins/reservation/preallocation/candidates.hpp"

namespace koord::scheduling::reservation {

// In Koordinator's words.
inline constexpr const char *kPreAllocationRequired =
                                "node(s) no pod match reservation with pre allocation required",
                            *kPreAllocationUnsupported =
                                "node(s) reservation pre allocation is unsupported with current attributes",
                            *kNoPodsToPreAllocate =
                                "node(s) no pod(s) to meet the pre-allocation requirements",
                            *kClusterModeDisabled =
                                "reservation requires cluster mode pre-allocation which is disabled";

/// What a reservation asks of a node.
struct RoomWanted {
  const Facts& reservation;
  std::span<const Amount> wanted;      // none zero or ignored
  std::span<const std::int64_t> free;  // of each of these, with all pods where they are
  bool prefers_none = false;           // it takes nobody over where it has room without
  /// What counts once where so much is taken of the reservation.
  std::function<std::vector<Amount>(const Taken&)> counted_once;
  std::function<bool(std::string_view)> ignored;
  std::function<std::string_view(ResourceId)> name;
};

struct Chosen {
  std::vector<const Candidate*> pods = {};
  /// Why there is no room, whoever is chosen. Nothing: there is.
  std::vector<std::string> reasons = {};

  bool fits() const { return reasons.empty(); }
};

/// What these have of the reservation then.
Taken taken_by(std::span<const Candidate* const> pods, const Facts& reservation);

/// One of the candidates, the one that makes the reservation the fullest; of a reservation that may have
/// several, one after the other until it has room. Who does not fit into it is passed over. Nobody where
/// that does, unless pre-allocation is required.
Chosen choose(const RoomWanted& room, std::span<const Candidate> candidates);

}  // namespace koord::scheduling::reservation
