// Room in reservations: see room.hpp.
#include "scheduling/plugins/reservation/rules/room.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduling::reservation {

namespace {

constexpr std::string_view kPodsName = "pods";

api::Quantity amount_of(const api::ResourceList& amounts, std::string_view name) {
  const api::Quantity* const amount = amounts.find(name);
  return amount != nullptr ? *amount : api::Quantity();
}

}  // namespace

std::vector<std::string> lacks(const api::ResourceList& requests, const Facts& r, const Taken& taken,
                               bool detailed, const std::function<bool(std::string_view)>& ignored) {
  std::vector<std::string> reasons;
  if (const api::Quantity* most = r.allocatable.find(kPodsName); most != nullptr)
    if (const std::int64_t has = most->value(); taken.pods + 1 > has)
      reasons.push_back(
          detailed ? fmt::format("Reservation(s) Too many pods, requested: 1, used: {}, capacity: {}",
                                 taken.pods, has)
                   : "Reservation(s) Too many pods");
  for (const Symbol& name : r.counted) {
    const api::Quantity* const wanted = requests.find(name);
    if (wanted == nullptr || wanted->is_zero() || ignored(name)) continue;
    const api::Quantity capacity = amount_of(r.allocatable, name) - amount_of(r.reserved, name);
    api::Quantity used = amount_of(taken.amounts, name);
    if (used.sign() < 0) used = api::Quantity();
    if (*wanted <= capacity - used) continue;
    if (!detailed) {
      reasons.push_back(fmt::format("Reservation(s) Insufficient {}", name.view()));
      continue;
    }
    const auto number = [&](const api::Quantity& q) { return name == "cpu" ? q.milli_value() : q.value(); };
    reasons.push_back(fmt::format("Reservation(s) Insufficient {}, requested: {}, used: {}, capacity: {}",
                                  name.view(), number(*wanted), number(used), number(capacity)));
  }
  return reasons;
}

std::int64_t usage_score(const api::ResourceList& requests, const Facts& r, const Taken& taken) {
  std::int64_t sum = 0, resources = 0;
  for (const auto& [name, capacity] : r.allocatable) {
    if (capacity.is_zero()) continue;
    ++resources;
    const api::Quantity used = amount_of(requests, name) + amount_of(taken.amounts, name);
    if (used > capacity || capacity.milli_value() == 0) continue;
    __extension__ using Wide = __int128;
    sum += static_cast<std::int64_t>(Wide{100} * used.milli_value() / capacity.milli_value());
  }
  return resources == 0 ? 0 : sum / resources;
}

}  // namespace koord::scheduling::reservation
