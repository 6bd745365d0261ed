// Room: see room.hpp.
#include "scheduling/plugins/node_numa_resource/room.hpp"

#include <fmt/format.h>

#include <bit>

#include "scheduling/plugin/numa_masks.hpp"

namespace koord::scheduling::node_numa_resource {

namespace {

constexpr std::size_t kNowhere = ZoneAmounts::kNowhere;
constexpr const char* kTooFew = "not enough cpus available to satisfy request";

template <class Visit>
void each_bit(std::uint64_t mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::size_t>(std::countr_zero(mask)));
}

}  // namespace

Room::Room(const NumaNode& node, const Ledger& ledger, const Demand& demand, const Binding& binding,
           const Kept* kept)
    : node_(node), ledger_(ledger), demand_(demand), binding_(binding), kept_(kept) {
  const std::size_t zones = node.zones.zones.size();
  if ((binding.cpus || binding.required) && node.has_cpus()) {
    CpuSet available = node.topology->cpus->all() - ledger.taken() - node.topology->reserved;
    if (demand.designated) available = available & demand.designated->cpus;
    if (kept != nullptr && kept->is_all) available = available & kept->cpus;
    usable_ = binding.required ? usable_cpus(*node.topology->cpus, available, binding.policy) : available;
    usable_count_ = usable_.size();
    usable_of_zones_.resize(zones);
    for (std::size_t z = 0; z < zones; ++z)
      if (const CpuTopology::Zone* zone = node.topology->cpus->zone(node.zones.zones[z]))
        usable_of_zones_[z] = (usable_ & zone->cpus).size();
  }
  for (const auto& [name, amount] : demand.amounts) {
    const std::size_t resource = node.zones.resource(name);
    if (resource == kNowhere) continue;
    Wanted& wanted = wanted_.emplace_back();
    wanted.name = name;
    wanted.resource = resource;
    wanted.amount = amount;
    wanted.cpus = binding.cpus && name == cpu_name();
    wanted.left.resize(zones);
    for (std::size_t z = 0; z < zones; ++z) {
      wanted.left[z] = left(z, resource);
      if (wanted.left[z] == 0) wanted.lacking |= Places{1} << z;
    }
  }
}

std::int64_t Room::taken(std::size_t zone, std::size_t resource) const {
  const std::size_t resources = node_.zones.resources.size();
  std::int64_t taken = ledger_.allocated(zone, resource, resources);
  // As in Koordinator: of a memory node of which nobody has a share, whole CPUs take nothing.
  if (node_.zone_cpu_ratio > 1 && node_.has_cpus() && node_.zones.resources[resource] == cpu_name() &&
      ledger_.has_shares(zone, resources)) {
    const CpuTopology::Zone* const cpus = node_.topology->cpus->zone(node_.zones.zones[zone]);
    const std::int64_t whole =
        cpus != nullptr ? 1000 * std::int64_t{(cpus->cpus & ledger_.taken()).size()} : 0;
    taken += amplified(whole, node_.zone_cpu_ratio) - whole;
  }
  return taken;
}

std::int64_t Room::left(std::size_t zone, std::size_t resource) const {
  std::int64_t left = std::max<std::int64_t>(total(zone, resource) - taken(zone, resource), 0);
  const Symbol& name = node_.zones.resources[resource];
  const bool cpu = name == cpu_name();
  const auto share_of = [&](std::span<const Given::Zone> zones) {
    std::optional<std::int64_t> share;
    for (const Given::Zone& each : zones)
      for (const auto& [of, amount] : each.amounts)
        if (of == name) share = share.value_or(0) + (each.id == node_.zones.zones[zone] ? amount : 0);
    return share;
  };
  if (demand_.designated && !demand_.designated->zones.empty())
    left = std::min(left, share_of(demand_.designated->zones).value_or(0));
  // What the reservation keeps nothing of, its pods have of the machine.
  if (kept_ != nullptr && kept_->is_all) left = std::min(left, share_of(kept_->zones).value_or(left));
  if (cpu && binding_.required && !usable_of_zones_.empty())
    left = std::min<std::int64_t>(left, 1000 * std::int64_t{usable_of_zones_[zone]});
  return left;
}

Room::Places Room::places(NumaMask nodes) const {
  Places zones = 0;
  for (std::size_t z = 0; z < node_.zones.zones.size(); ++z)
    if ((nodes >> node_.zones.zones[z] & 1) != 0) zones |= Places{1} << z;
  return zones;
}
NumaMask Room::nodes(Places zones) const {
  NumaMask nodes = 0;
  each_bit(zones, [&](std::size_t z) { nodes |= NumaMask{1} << node_.zones.zones[z]; });
  return nodes;
}

std::int64_t Room::part(const Wanted& wanted, std::int64_t amount, int zones) const {
  if (!wanted.cpus) return amount / zones;
  const std::int64_t cpus = (amount + 999) / 1000;
  std::int64_t core = 1;
  if (binding_.required && binding_.policy == BindPolicy::full_pcpus)
    core = std::max(node_.topology->cpus->cpus_per_core(), 1);
  return cpus / core / zones * core * 1000;
}

bool Room::distribute(const Wanted& wanted, Places zones, ByZone& out) const {
  std::array<std::uint8_t, 64> order;
  std::size_t count = 0;
  each_bit(zones, [&](std::size_t z) {
    std::size_t at = count++;
    for (; at > 0 && wanted.left[order[at - 1]] > wanted.left[z]; --at) order[at] = order[at - 1];
    order[at] = static_cast<std::uint8_t>(z);
  });
  std::int64_t amount = wanted.amount;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t got =
        std::min(wanted.left[order[i]], part(wanted, amount, static_cast<int>(count - i)));
    out[order[i]] = got;
    amount -= got;
  }
  return amount == 0;
}

/// Of what is not in whole CPUs, what the zones have together is given out, evenly or not.
bool Room::is_enough(const Wanted& wanted, Places zones) const {
  if (wanted.cpus) {
    ByZone shares;
    return distribute(wanted, zones, shares);
  }
  std::int64_t sum = 0;
  each_bit(zones, [&](std::size_t z) { sum += wanted.left[z]; });
  return sum >= wanted.amount;
}

const char* Room::lacks_cpus_anywhere() const {
  const bool other = demand_.designated && demand_.designated->cpus.size() != demand_.cpus();
  return usable_count_ < demand_.cpus() || other ? kTooFew : nullptr;
}

const char* Room::lacks_cpus(Places zones) const {
  if (const char* why = lacks_cpus_anywhere()) return why;
  ByZone cpu{}, other;
  Places some = 0;
  for (const Wanted& wanted : wanted_) {
    ByZone& shares = wanted.cpus ? cpu : other;
    distribute(wanted, zones, shares);
    each_bit(zones, [&](std::size_t z) { some |= shares[z] > 0 ? Places{1} << z : 0; });
  }
  if (some == 0) return nullptr;  // from anywhere
  int sum = 0;
  bool whole = true;
  const int core = std::max(node_.topology->cpus->cpus_per_core(), 1);
  each_bit(some, [&](std::size_t z) {
    const int cpus = std::min(usable_of_zones_[z], static_cast<int>(cpu[z] / 1000));
    sum += cpus;
    whole = whole && cpus % core == 0;
  });
  if (sum != demand_.cpus()) return kTooFew;
  if (binding_.required && binding_.policy == BindPolicy::full_pcpus && !whole)
    return "insufficient CPUs to satisfy required cpu bind policy FullPCPUs";
  return nullptr;
}

bool Room::would_do(Places zones) const {
  for (const Wanted& wanted : wanted_)
    if (!is_enough(wanted, zones)) return false;
  return !binding_.cpus || lacks_cpus(zones) == nullptr;
}

std::vector<std::string> Room::lacks(NumaMask nodes) const {
  std::vector<std::string> reasons;
  const Places zones = places(nodes);
  if (nodes != 0)
    for (const Wanted& wanted : wanted_)
      if (!is_enough(wanted, zones))
        reasons.push_back(fmt::format("Insufficient NUMA {}", wanted.name.view()));
  if (!reasons.empty()) return reasons;
  const auto cpus = [&] { return nodes == 0 ? lacks_cpus_anywhere() : lacks_cpus(zones); };
  const bool had = demand_.designated && !demand_.designated->cpus.empty();
  // Who had CPUs of his own gets them, or does not come here.
  if (const char* why = binding_.cpus ? cpus() : had ? kTooFew : nullptr) reasons.emplace_back(why);
  return reasons;
}

std::vector<Given::Zone> Room::shares(NumaMask nodes) const {
  std::vector<Given::Zone> shares;
  const Places zones = places(nodes);
  std::vector<ByZone> of(wanted_.size());
  for (std::size_t i = 0; i < wanted_.size(); ++i) distribute(wanted_[i], zones, of[i]);
  each_bit(zones, [&](std::size_t z) {
    Given::Zone share{.id = node_.zones.zones[z], .amounts = {}};
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (of[i][z] > 0) share.amounts.emplace_back(wanted_[i].name, of[i][z]);
    if (!share.amounts.empty()) shares.push_back(std::move(share));
  });
  return shares;
}

std::optional<CpuSet> Room::pick(std::span<const Given::Zone> shares, ZoneStrategy strategy) const {
  const CpuTopology& topology = *node_.topology->cpus;
  CpuChoice from{.topology = topology,
                 .available = usable_,
                 .preferred = kept_ != nullptr ? kept_->cpus : CpuSet(),
                 .alone_on_core = ledger_.alone_on_core(),
                 .alone_on_zone = ledger_.alone_on_zone()};
  CpuRequest request{
      .count = demand_.cpus(), .bind = binding_.policy, .exclusive = demand_.exclusive, .strategy = strategy};
  CpuSet picked;
  if (shares.empty()) {
    auto cpus = pick_cpus(from, request);
    if (!cpus) return {};
    picked = std::move(*cpus);
  }
  for (const Given::Zone& share : shares) {
    const CpuTopology::Zone* const zone = topology.zone(share.id);
    std::int64_t milli = 0;
    for (const auto& [name, amount] : share.amounts) milli += name == cpu_name() ? amount : 0;
    from.available = zone != nullptr ? usable_ & zone->cpus : CpuSet();
    request.count = std::min(from.available.size(), static_cast<int>(milli / 1000));
    if (request.count == 0) continue;
    const auto cpus = pick_cpus(from, request);
    if (!cpus) return {};
    picked = picked | *cpus;
  }
  if (picked.size() != demand_.cpus()) return {};
  if (binding_.required && !satisfies(topology, picked, binding_.policy)) return {};
  if (demand_.designated && picked != demand_.designated->cpus) return {};
  return picked;
}

void Room::hints(const ResourceScorer& scorer, const ScoredResources& scored, bool all_preferred,
                 std::span<const Room> rooms, std::vector<NumaHintList>& out) const {
  const std::size_t zones = node_.zones.zones.size(), first = out.size();
  if (zones == 0) return;
  for (const Wanted& wanted : wanted_)
    out.push_back({.resource = wanted.name.str(), .hints = std::vector<NumaHint>()});
  struct Scored {
    std::int64_t asked, weight;
    std::vector<std::int64_t> total, left;
  };
  std::vector<Scored> scores;
  for (const ScoredResources::Resource& each : scored.resources) {
    const std::size_t resource = node_.zones.resource(each.name);
    if (resource == kNowhere) continue;
    const auto asked = std::ranges::find(demand_.amounts, each.name, &std::pair<Symbol, std::int64_t>::first);
    std::int64_t amount = asked != demand_.amounts.end() ? asked->second : 0;
    if (amount == 0 && each.scalar) continue;
    if (binding_.cpus && each.name == cpu_name()) amount = amplified(amount, node_.zone_cpu_ratio);
    Scored& made = scores.emplace_back(Scored{amount, each.weight, {}, {}});
    for (std::size_t z = 0; z < zones; ++z) {
      made.total.push_back(total(z, resource));
      made.left.push_back(left(z, resource));
    }
  }
  std::vector<std::int64_t> used, capacity, weights;
  std::vector<int> narrowest(wanted_.size(), static_cast<int>(zones));
  for (const Places mask : numa_masks(zones)) {
    const auto lacks = [&](const Wanted& wanted) { return (wanted.lacking & mask) != 0; };
    if (std::ranges::all_of(wanted_, lacks)) continue;
    if (rooms.empty() ? !would_do(mask)
                      : std::ranges::none_of(rooms, [&](const Room& room) { return room.would_do(mask); }))
      continue;
    used.clear();
    capacity.clear();
    weights.clear();
    for (const Scored& each : scores) {
      std::int64_t total = 0, left = 0;
      each_bit(mask, [&](std::size_t z) {
        total += each.total[z];
        left += each.left[z];
      });
      if (total == 0) continue;
      used.push_back(std::max<std::int64_t>(total - left, 0) + each.asked);
      capacity.push_back(total);
      weights.push_back(each.weight);
    }
    const std::int64_t score = used.empty() ? 0 : scorer.score(used, capacity, weights);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (lacks(wanted_[i])) continue;
      out[first + i].hints->push_back({nodes(mask), false, score});
      narrowest[i] = std::min(narrowest[i], std::popcount(mask));
    }
  }
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    for (NumaHint& hint : *out[first + i].hints)
      hint.preferred = all_preferred || std::popcount(hint.nodes) == narrowest[i];
}

}  // namespace koord::scheduling::node_numa_resource
