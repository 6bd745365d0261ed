// What a pod that wants a reservation is told of an attempt that failed, in terms of reservations.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace koord::scheduling::reservation {

/// "0/N reservations are available: ..." from a scheduler's message about nodes. Absent: it says nothing of
/// reservations.
std::optional<std::string> about_reservations(std::string_view message);

}  // namespace koord::scheduling::reservation
