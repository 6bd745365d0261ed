// Room in a reservation: what a pod lacks there, and how well it would use it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/plugins/reservation/rules/facts.hpp"

namespace koord::scheduling::reservation {

/// What a reservation's pods have of it.
struct Taken {
  api::ResourceList amounts = {};
  std::int64_t pods = 0;
};

/// Why a Restricted reservation has no room for the pod, in Koordinator's words; nothing: it has. `detailed`:
/// with amounts, for pods that name it. `ignored` says which resources reservations do not count.
std::vector<std::string> lacks(const api::ResourceList& requests, const Facts& reservation,
                               const Taken& taken, bool detailed,
                               const std::function<bool(std::string_view)>& ignored);

/// 0 to 100: the fuller it would be, the better; a resource of which it would be overdrawn is worth nothing.
std::int64_t usage_score(const api::ResourceList& requests, const Facts& reservation, const Taken& taken);

}  // namespace koord::scheduling::reservation
