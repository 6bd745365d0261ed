// OneDomain: see one_domain.hpp.
#include "scheduling/plugins/gang_scheduling/one_domain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::gang_scheduling {

namespace {

/// People are told of so many domains by name, those with the most room.
constexpr std::size_t kNamed = 16;

std::optional<std::string_view> value_of(const api::Node* node, std::string_view key) {
  if (node == nullptr) return std::nullopt;
  const Symbol* const value = node->metadata.labels.find(key);
  return value != nullptr ? std::optional(value->view()) : std::nullopt;
}

/// By what they cost, and how much they have room for.
template <class Domains>
std::vector<typename Domains::const_iterator> sorted(const Domains& domains) {
  std::vector<typename Domains::const_iterator> all;
  for (auto it = domains.begin(); it != domains.end(); ++it) all.push_back(it);
  std::ranges::stable_sort(all, {},
                           [](const auto& it) { return std::pair(it->second.cost, it->second.room); });
  return all;
}

}  // namespace

/// Only the one in which members are, if any are; of those that are in several no one is left.
OneDomain::Domains OneDomain::domains(std::string_view key, const gangs::Gang& gang,
                                      gangs::GangPlugin::Costs costs) const {
  Domains all;
  for (Row row = 0; row < rooms_.size(); ++row) {
    const auto value = value_of(nodes_.node(row).get(), key);
    if (!value) continue;
    Domain& domain = all[std::string(*value)];
    if (rooms_[row].pods == 0) continue;
    domain.room += rooms_[row].pods;
    if (row < costs.size()) domain.cost += costs[row];
    domain.rows.push_back(row);
  }
  for (const auto& [node, count] : gang.nodes) {
    const Row row = nodes_.find(node.view());
    const auto value = row != kNoRow ? value_of(nodes_.node(row).get(), key) : std::nullopt;
    std::erase_if(all, [&](const auto& domain) { return !value || domain.first != *value; });
  }
  for (auto& [value, domain] : all)
    std::ranges::stable_sort(domain.rows, std::ranges::greater(), [&](Row row) { return rooms_[row].pods; });
  return all;
}

/// The first `count` members have a place. False: they do not fit there after all, or `outcome` says why not
/// anywhere.
bool OneDomain::fill(const Domain& domain, const std::vector<Member*>& members, std::size_t count,
                     Placements& places, Outcome& outcome) const {
  std::size_t next = 0;
  for (const Row row : domain.rows) {
    for (std::uint32_t left = rooms_[row].pods; left > 0 && next < count; --left) {
      Placements::Placed placed = places.place_on(*members[next]->pod, row);
      if (placed.row == kNoRow && !placed.elsewhere) {
        outcome = {std::move(placed.status), members[next], next};
        return false;
      }
      if (placed.row == kNoRow) break;
      ++next;
    }
    if (next == count) return true;
  }
  return false;
}

OneDomain::Outcome OneDomain::place(std::string_view key, const gangs::Gang& gang,
                                    std::vector<Member*> waiting, Member& leader, Placements& places,
                                    gangs::GangPlugin::Costs costs) {
  std::ranges::stable_partition(waiting, [&](const Member* member) { return member == &leader; });
  std::vector<const api::Pod*> pods;
  pods.reserve(waiting.size());
  for (const Member* member : waiting) pods.push_back(member->pod.get());
  Placements::NoRoom none = places.room(pods, rooms_);
  if (!none.status.ok()) {
    const auto who = std::ranges::find(waiting, none.pod, [](const Member* m) { return m->pod.get(); });
    return {std::move(none.status), who != waiting.end() ? *who : &leader};
  }
  const Domains all = domains(key, gang, costs);
  const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(gang.needs(), 1));
  for (const std::size_t count : {waiting.size(), std::min(needed, waiting.size())}) {
    for (const auto& it : sorted(all)) {
      Outcome outcome;
      if (it->second.room < static_cast<std::int64_t>(count)) continue;
      if (fill(it->second, waiting, count, places, outcome)) return {};
      if (!outcome.status.ok()) return outcome;
      places.roll_back(0);
    }
  }
  Diagnosis why = nowhere(key, gang, all, std::min(needed, waiting.size()));
  Outcome outcome{{StatusCode::unschedulable, fit_error(why)}, &leader};
  if (costs.empty()) places.refuse(*leader.pod, std::move(why));
  return outcome;
}

Diagnosis OneDomain::nowhere(std::string_view key, const gangs::Gang& gang, const Domains& domains,
                             std::size_t wanted) const {
  Diagnosis why{.nodes = nodes_.nodes()};
  for (Row row = 0; row < rooms_.size(); ++row)
    if (nodes_.node(row) && rooms_[row].refusal != kPass && rooms_[row].refusal != kAbsent)
      why.count(verdicts_[rooms_[row].refusal], 1);
  std::vector<std::string> rooms;
  const auto by_room = sorted(domains);
  for (auto it = by_room.rbegin(); it != by_room.rend() && rooms.size() < kNamed; ++it)
    rooms.push_back(fmt::format("\"{}\": {}", (*it)->first, (*it)->second.room));
  if (by_room.size() > kNamed)
    rooms.push_back(fmt::format("{} more values with less", by_room.size() - kNamed));
  why.prefilter_message =
      fmt::format("pod group {} needs room for {} pods on nodes with one value of the label \"{}\"", gang.id,
                  wanted, key);
  if (!gang.nodes.empty()) why.prefilter_message += ", where its other pods are";
  why.prefilter_message +=
      rooms.empty() ? ": no node has it" : fmt::format("; room by value: {}", fmt::join(rooms, ", "));
  std::vector<std::string> reasons;
  reasons.reserve(why.reasons.size());
  for (const auto& [reason, nodes] : why.reasons) reasons.push_back(fmt::format("{} {}", nodes, reason));
  if (!reasons.empty())
    why.prefilter_message += fmt::format("; nodes that have no more: {}", fmt::join(reasons, ", "));
  return why;
}

}  // namespace koord::scheduling::gang_scheduling
