// The schema tables of explain_plugin.hpp.
#include "koord/scheduling/plugin/explain_plugin.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "koord/api/schema/table.hpp"

namespace koord::scheduling::explain {

KOORD_SCHEMA(MatchedReservationView, ROW(name), ROW(node), ROW(serves).always(), ROW(reasons), ROW(left));
KOORD_SCHEMA(ReservationUserView, ROW(pod), ROW(has));
KOORD_SCHEMA(ReservationOwnerView, ROW(pod), ROW(node), ROW(serves).always(), ROW(reasons));
KOORD_SCHEMA(ReservationView, ROW(name), ROW(phase), ROW(node), ROW(expires), ROW(allocatable),
             ROW(allocated), ROW(left), ROW(users), ROW(owners), ROW(more_owners));

std::string amounts_text(const api::ResourceList& amounts) {
  std::vector<std::string> all;
  for (const auto& [name, amount] : amounts)
    all.push_back(fmt::format("{} {}", name.view(), amount.to_string()));
  return all.empty() ? "nothing" : fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace koord::scheduling::explain
