// Ledger: see ledger.hpp.
#include "scheduling/plugins/node_numa_resource/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::node_numa_resource {

namespace {
/// Of one resource of one memory node: an annotation may say anything, and the sum over all pods that a
/// machine can have is to stay a number.
constexpr std::int64_t kMostGiven = 100'000'000'000'000;
constexpr std::size_t kMostResources = 256;
constexpr std::int32_t kMaxZone = 63;

bool shares_zones(const Ledger::Holder& holder) { return !holder.in.empty() && !holder.given->zones.empty(); }
/// nullptr: none.
std::int64_t* amount_in(std::vector<Given::Zone>& zones, std::int32_t id, const Symbol& name) {
  for (Given::Zone& zone : zones)
    if (zone.id == id)
      for (auto& [of, amount] : zone.amounts)
        if (of == name) return &amount;
  return nullptr;
}
}  // namespace

Result<std::shared_ptr<const Given>> given_by_annotations(const api::Pod& pod) {
  using Read = std::shared_ptr<const Given>;
  const api::SymbolMap& annotations = pod.metadata.annotations;
  if (!annotations.contains(api::ResourceStatus::kAnnotation)) return Read();
  KOORD_TRY(status, api::read_annotation<api::ResourceStatus>(annotations));
  if (!status) return Read();
  KOORD_TRY(spec, api::read_annotation<api::ResourceSpec>(annotations));
  auto cpus = CpuSet::parse(status->cpuset);
  if (!cpus) return std::move(cpus).error().context("cpuset").context(api::ResourceStatus::kAnnotation);
  if (cpus->empty() && status->numa_node_resources.empty()) return Read();
  auto given = std::make_shared<Given>();
  given->cpus = std::move(*cpus);
  if (spec) given->exclusive = parse_exclusive(spec->preferred_cpu_exclusive_policy.view());
  std::map<std::int32_t, std::map<std::string_view, std::int64_t>> sums;
  for (const api::NumaNodeResource& zone : status->numa_node_resources) {
    // No mask has room for another.
    if (zone.node < 0 || zone.node > kMaxZone) continue;
    auto& of = sums[zone.node];
    for (const auto& [name, amount] : zone.resources) {
      const std::int64_t said = name == cpu_name() ? amount.milli_value() : amount.value();
      std::int64_t& sum = of[name.view()];
      sum = std::min(sum + std::clamp<std::int64_t>(said, 0, kMostGiven), kMostGiven);
    }
    if (of.size() > kMostResources)
      return Error(Code::invalid,
                   fmt::format("{}: numaNodeResources: more than {} resources of a memory node",
                               api::ResourceStatus::kAnnotation, kMostResources));
  }
  for (const auto& [id, amounts] : sums) {
    Given::Zone& made = given->zones.emplace_back();
    made.id = id;
    for (const auto& [name, amount] : amounts) made.amounts.emplace_back(Symbol(name), amount);
  }
  return Read(std::move(given));
}

void Ledger::bind(const NumaNode& node) {
  taken_ = {};
  refs_.clear();
  allocated_.assign(node.zones.amounts.size(), 0);
  zone_ids_.clear();
  if (node.topology != nullptr)
    for (const CpuTopology::Zone& zone : node.topology->cpus->zones()) zone_ids_.push_back(zone.id);
  pods_.assign(zone_ids_.size(), {});
  for (const Holder& holder : holders_) count(node, *holder.given, false);
  mark_alone();
  count_twice(node);
}

void Ledger::add(const NumaNode& node, Holder holder) {
  count(node, *holder.given, false);
  const bool alone = holder.given->exclusive != Exclusive::none;
  lodgers_ += shares_zones(holder) ? 1 : 0;
  holders_.push_back(std::move(holder));
  if (alone) mark_alone();
  count_twice(node);
}

void Ledger::remove(const NumaNode& node, const PodInfo& pod) {
  const auto it = std::ranges::find_if(holders_, [&](const Holder& each) { return each.pod == &pod; });
  if (it == holders_.end()) return;
  lodgers_ -= shares_zones(*it) ? 1 : 0;
  const std::shared_ptr<const Given> given = std::move(it->given);
  *it = std::move(holders_.back());
  holders_.pop_back();
  count(node, *given, true);
  if (given->exclusive != Exclusive::none) mark_alone();
  count_twice(node);
}

const Given* Ledger::of(const PodInfo& pod) const {
  const auto it = std::ranges::find_if(holders_, [&](const Holder& each) { return each.pod == &pod; });
  return it != holders_.end() ? it->given.get() : nullptr;
}

const Ledger::Holder* Ledger::find(std::string_view uid) const {
  const auto it = std::ranges::find_if(holders_, [&](const Holder& each) {
    return each.pod->pod != nullptr && each.pod->pod->metadata.uid == uid;
  });
  return it != holders_.end() ? &*it : nullptr;
}

/// What its pods have of its shares of zones; no more than these are.
std::vector<Given::Zone> Ledger::taken_of(const Holder& reservation, std::span<const Holder* const> lodgers) {
  std::vector<Given::Zone> taken = reservation.given->zones;
  for (Given::Zone& zone : taken)
    for (auto& [name, amount] : zone.amounts) amount = 0;
  for (const Holder* holder : lodgers)
    for (const Given::Zone& zone : holder->given->zones)
      for (const auto& [name, amount] : zone.amounts)
        if (std::int64_t* const sum = amount_in(taken, zone.id, name)) *sum += amount;
  for (std::size_t z = 0; z < taken.size(); ++z)
    for (std::size_t i = 0; i < taken[z].amounts.size(); ++i)
      taken[z].amounts[i].second =
          std::min(taken[z].amounts[i].second, reservation.given->zones[z].amounts[i].second);
  return taken;
}

Kept Ledger::kept(const Holder& reservation) const {
  Kept kept{.zones = reservation.given->zones};
  for (const int cpu : reservation.given->cpus.cpus())
    if (refs_[static_cast<std::size_t>(cpu)] == 1) kept.cpus.add(cpu);
  if (kept.zones.empty()) return kept;
  std::vector<const Holder*> lodgers;
  for (const Holder& holder : holders_)
    if (holder.in == reservation.pod->pod->metadata.uid && &holder != &reservation)
      lodgers.push_back(&holder);
  const std::vector<Given::Zone> taken = taken_of(reservation, lodgers);
  for (std::size_t z = 0; z < taken.size(); ++z)
    for (std::size_t i = 0; i < taken[z].amounts.size(); ++i)
      kept.zones[z].amounts[i].second -= taken[z].amounts[i].second;
  return kept;
}

/// One pass: there may be as many reservations as pods.
void Ledger::count_twice(const NumaNode& node) {
  if (lodgers_ == 0) return twice_.clear();
  twice_.assign(allocated_.size(), 0);
  std::unordered_map<std::string_view, std::vector<const Holder*>> lodgers;
  for (const Holder& holder : holders_)
    if (shares_zones(holder)) lodgers[holder.in].push_back(&holder);
  for (const Holder& holder : holders_) {
    if (holder.given->zones.empty() || holder.pod->pod == nullptr) continue;
    const auto its = lodgers.find(holder.pod->pod->metadata.uid);
    if (its == lodgers.end()) continue;
    for (const Given::Zone& share : taken_of(holder, its->second)) {
      const std::size_t zone = node.zones.zone(share.id);
      if (zone == ZoneAmounts::kNowhere) continue;
      for (const auto& [name, amount] : share.amounts)
        if (const std::size_t resource = node.zones.resource(name); resource != ZoneAmounts::kNowhere)
          twice_[zone * node.zones.resources.size() + resource] += amount;
    }
  }
}

void Ledger::count(const NumaNode& node, const Given& given, bool take_back) {
  std::vector<std::size_t> zones;  // of its CPUs
  for (const int cpu : given.cpus.cpus()) {
    const auto at = static_cast<std::size_t>(cpu);
    if (at >= refs_.size()) refs_.resize(at + 1);
    refs_[at] = static_cast<std::uint16_t>(refs_[at] + (take_back ? -1 : 1));
    if (refs_[at] == 0) {
      taken_.remove(cpu);
    } else {
      taken_.add(cpu);
    }
    if (node.topology == nullptr || !node.topology->cpus->all().contains(cpu)) continue;
    const std::size_t zone = node.topology->cpus->place(cpu).zone;
    if (std::ranges::find(zones, zone) == zones.end()) zones.push_back(zone);
  }
  for (const std::size_t zone : zones) {
    auto& pods = zones.size() > 1 ? pods_[zone].second : pods_[zone].first;
    pods = static_cast<std::uint16_t>(pods + (take_back ? -1 : 1));
  }
  for (const Given::Zone& given_of : given.zones) {
    const std::size_t zone = node.zones.zone(given_of.id);
    if (zone == ZoneAmounts::kNowhere) continue;
    for (const auto& [name, amount] : given_of.amounts)
      if (const std::size_t resource = node.zones.resource(name); resource != ZoneAmounts::kNowhere) {
        std::int64_t& sum = allocated_[zone * node.zones.resources.size() + resource];
        sum += take_back ? -amount : amount;
      }
  }
}

void Ledger::mark_alone() {
  alone_on_core_ = {};
  alone_on_zone_ = {};
  for (const Holder& holder : holders_) {
    const Exclusive level = holder.given->exclusive;
    if (level == Exclusive::pcpu_level) alone_on_core_ = alone_on_core_ | holder.given->cpus;
    if (level == Exclusive::numa_node_level) alone_on_zone_ = alone_on_zone_ | holder.given->cpus;
  }
}

NumaMask Ledger::single() const {
  NumaMask mask = 0;
  for (std::size_t i = 0; i < pods_.size(); ++i)
    if (pods_[i].first > 0 && pods_[i].second == 0 && zone_ids_[i] >= 0 && zone_ids_[i] < 64)
      mask |= NumaMask{1} << zone_ids_[i];
  return mask;
}
NumaMask Ledger::shared() const {
  NumaMask mask = 0;
  for (std::size_t i = 0; i < pods_.size(); ++i)
    if (pods_[i].second > 0 && zone_ids_[i] >= 0 && zone_ids_[i] < 64) mask |= NumaMask{1} << zone_ids_[i];
  return mask;
}

}  // namespace koord::scheduling::node_numa_resource
