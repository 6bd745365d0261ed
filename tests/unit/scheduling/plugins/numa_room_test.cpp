// Memory nodes by sums: random machines beside Koordinator's trials, one allocation for each mask, and that
// what a mask promises can be had.
#include "scheduling/plugins/node_numa_resource/room.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>

#include "numa_rig.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

using namespace node_numa_resource;

const Symbol kMemoryName("memory"), kHuge("hugepages-2Mi");

/// One machine, what is given there, and one pod.
struct Trial {
  NumaNode node;
  Ledger ledger;
  Demand demand;
  Room::Binding binding;
  bool most = false, restricted = false;
};

/// Koordinator's trial of each mask, over maps.
class Trials {
 public:
  explicit Trials(const Trial& of) : of_(of), topology_(*of.node.topology->cpus) {
    const CpuSet free = topology_.all() - of.ledger.taken() - of.node.topology->reserved;
    usable_ = of.binding.required ? usable_cpus(topology_, free, of.binding.policy) : free;
    for (std::size_t z = 0; z < of.node.zones.zones.size(); ++z) {
      const int zone = of.node.zones.zones[z];
      for (std::size_t r = 0; r < of.node.zones.resources.size(); ++r) {
        if (of.node.zones.at(z, r) == ZoneAmounts::kAbsent) continue;
        const std::string name = of.node.zones.resources[r].str();
        total_[zone][name] = of.node.zones.at(z, r);
        std::int64_t taken = 0;
        bool has_shares = false;  // else the original has nothing that it could amplify
        for (const Ledger::Holder& holder : of.ledger.holders())
          for (const Given::Zone& share : holder.given->zones)
            for (const auto& [what, amount] : share.amounts) {
              if (share.id != zone) continue;
              has_shares =
                  has_shares || (amount != 0 && of.node.zones.resource(what) != ZoneAmounts::kNowhere);
              if (what.view() == name) taken += amount;
            }
        if (name == "cpu" && of.node.zone_cpu_ratio > 1 && has_shares) {
          const auto* cpus = topology_.zone(zone);
          const std::int64_t whole = cpus != nullptr ? (cpus->cpus & of.ledger.taken()).size() * 1000 : 0;
          taken = taken - whole + amplified(whole, of.node.zone_cpu_ratio);
        }
        left_[zone][name] = std::max<std::int64_t>(total_[zone][name] - taken, 0);
        if (name == "cpu" && of.binding.required)
          left_[zone][name] = std::min<std::int64_t>(left_[zone][name], usable_on(zone).size() * 1000);
      }
    }
  }

  /// As many lists as resources that are asked for and that zones have.
  std::map<std::string, std::vector<NumaHint>> hints() {
    const std::vector<std::int32_t>& zones = of_.node.zones.zones;
    std::map<std::string, std::vector<NumaHint>> hints;
    std::map<std::string, int> narrowest;
    std::vector<std::vector<int>> masks;
    for (std::size_t size = 1; size <= zones.size(); ++size) {
      std::vector<int> chosen;
      choose(zones, 0, size, chosen, masks);
    }
    for (const auto& [name, amount] : of_.demand.amounts)
      for (const auto& [zone, resources] : total_)
        if (resources.count(name.str()) != 0) hints[name.str()];
    for (const auto& mask : masks) {
      if (!fits(mask)) continue;
      NumaMask bits = 0;
      for (const int zone : mask) bits |= NumaMask{1} << zone;
      for (auto& [name, list] : hints) {
        bool lacks = false;
        for (const int zone : mask) lacks = lacks || left_[zone][name] == 0;
        if (lacks) continue;
        list.push_back({bits, false, score(mask)});
        if (narrowest.count(name) == 0) narrowest[name] = static_cast<int>(mask.size());
      }
    }
    for (auto& [name, list] : hints)
      for (NumaHint& hint : list)
        hint.preferred = of_.restricted || std::popcount(hint.nodes) == narrowest[name];
    return hints;
  }

 private:
  static void choose(const std::vector<std::int32_t>& zones, std::size_t from, std::size_t size,
                     std::vector<int>& chosen, std::vector<std::vector<int>>& out) {
    if (chosen.size() == size) return out.push_back(chosen);
    for (std::size_t i = from; i < zones.size(); ++i) {
      chosen.push_back(zones[i]);
      choose(zones, i + 1, size, chosen, out);
      chosen.pop_back();
    }
  }
  CpuSet usable_on(int zone) const {
    const auto* cpus = topology_.zone(zone);
    return cpus != nullptr ? usable_ & cpus->cpus : CpuSet();
  }
  bool fits(const std::vector<int>& mask) {
    std::map<int, std::map<std::string, std::int64_t>> shares;
    for (const auto& [symbol, asked] : of_.demand.amounts) {
      const std::string name = symbol.str();
      bool known = false;
      for (const auto& [zone, resources] : total_) known = known || resources.count(name) != 0;
      if (!known) continue;
      std::vector<int> order = mask;
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return left_[a][name] < left_[b][name]; });
      std::int64_t amount = asked;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const auto zones = static_cast<std::int64_t>(order.size() - i);
        std::int64_t part = amount / zones;
        if (name == "cpu" && of_.binding.cpus) {
          const std::int64_t cpus = (amount + 999) / 1000;
          part = cpus / zones * 1000;
          if (of_.binding.required && of_.binding.policy == BindPolicy::full_pcpus)
            part = cpus / topology_.cpus_per_core() / zones * topology_.cpus_per_core() * 1000;
        }
        const std::int64_t got = std::min(part, left_[order[i]][name]);
        if (got > 0) shares[order[i]][name] = got;
        amount -= got;
      }
      if (amount != 0) return false;
    }
    if (!of_.binding.cpus) return true;
    const int needed = of_.demand.cpus();
    if (usable_.size() < needed) return false;
    const auto take = [&](const CpuSet& from, int count) {
      return pick_cpus({.topology = topology_, .available = from},
                       {.count = count, .bind = of_.binding.policy});
    };
    CpuSet all;
    if (shares.empty()) {
      const auto cpus = take(usable_, needed);
      if (!cpus) return false;
      all = *cpus;
    }
    for (auto& [zone, of] : shares) {
      const CpuSet there = usable_on(zone);
      const auto cpus = take(there, std::min(there.size(), static_cast<int>(of["cpu"] / 1000)));
      if (!cpus) return false;
      all = all | *cpus;
    }
    return all.size() == needed && (!of_.binding.required || satisfies(topology_, all, of_.binding.policy));
  }
  std::int64_t score(const std::vector<int>& mask) {
    std::int64_t sum = 0, weights = 0;
    for (const char* name : {"cpu", "memory"}) {
      std::int64_t there = 0, left = 0, asked = 0;
      for (const int zone : mask) {
        // Looking must not make it known there.
        there += value_of(total_, zone, name);
        left += value_of(left_, zone, name);
      }
      for (const auto& [what, amount] : of_.demand.amounts)
        if (what.view() == name) asked = amount;
      if (of_.binding.cpus && std::string_view(name) == "cpu")
        asked = amplified(asked, of_.node.zone_cpu_ratio);
      if (there == 0) continue;
      const std::int64_t used = there - left + asked;
      ++weights;
      if (of_.most) {
        sum += std::min(used, there) * 100 / there;
      } else if (used <= there) {
        sum += (there - used) * 100 / there;
      }
    }
    return weights == 0 ? 0 : sum / weights;
  }

  using ByZone = std::map<int, std::map<std::string, std::int64_t>>;
  static std::int64_t value_of(const ByZone& amounts, int zone, const std::string& name) {
    const auto of = amounts.find(zone);
    if (of == amounts.end()) return 0;
    const auto amount = of->second.find(name);
    return amount == of->second.end() ? 0 : amount->second;
  }

  const Trial& of_;
  const CpuTopology& topology_;
  CpuSet usable_;
  ByZone total_, left_;
};

class RandomTrials {
 public:
  explicit RandomTrials(unsigned seed) : random_(seed) {}
  int below(unsigned n) { return static_cast<int>(random_() % n); }

  Trial make(int zones) {
    Trial made;
    const CpuMachine machine{1, zones, 1 + below(4), 1 + below(2)};
    NumaMachine reports{.cpus = machine, .memory = "8Gi"};
    if (below(3) == 0)
      reports.annotations = {{"node.koordinator.sh/resource-amplification-ratio",
                              below(2) == 0 ? R"({"cpu":1.5})" : R"({"cpu":2,"memory":1.1})"}};
    if (below(4) == 0) reports.reported = {{"node.koordinator.sh/reservation", R"({"reservedCPUs":"0-1"})"}};
    api::NodeResourceTopology object = *reports.topology("n");
    for (api::TopologyZone& zone : object.zones) {
      if (below(3) == 0) zone.resources.push_back({kHuge, {}, api::Quantity::from_int(below(5)), {}});
      if (below(8) == 0) zone.resources.erase(zone.resources.begin());
    }
    made.node = make_numa_node(reports.node("n").get(), read_topology(object, known_));
    made.ledger.bind(made.node);
    const CpuTopology& cpus = *made.node.topology->cpus;
    for (int pods = below(4); pods > 0; --pods) {
      auto given = std::make_shared<Given>();
      for (const int cpu : cpus.all().cpus())
        if (below(6) == 0) given->cpus.add(cpu);
      for (const std::int32_t zone : made.node.zones.zones)
        if (below(2) == 0)
          given->zones.push_back({zone,
                                  {{cpu_name(), 500 * below(8)},
                                   {kMemoryName, (std::int64_t{1} << 30) * below(4)},
                                   {kHuge, below(2)}}});
      made.ledger.add(made.node, {&pods_.emplace_back(), std::move(given)});
    }
    made.demand.cpu = below(3) == 0 ? 500 * below(20) : 1000 * below(12);
    if (made.demand.cpu > 0) made.demand.amounts.emplace_back(cpu_name(), made.demand.cpu);
    if (below(3) == 0) made.demand.amounts.emplace_back(kHuge, 1 + below(6));
    if (below(4) != 0 || made.demand.amounts.empty())
      made.demand.amounts.emplace_back(kMemoryName, (std::int64_t{1} << 29) * (1 + below(40)));
    made.binding.cpus = made.demand.cpu > 0 && made.demand.cpu % 1000 == 0 && below(2) == 0;
    made.binding.required = below(2) == 0;
    made.binding.policy = below(2) == 0 ? BindPolicy::full_pcpus : BindPolicy::spread_by_pcpus;
    made.most = below(2) == 0;
    made.restricted = below(4) == 0;
    return made;
  }

 private:
  std::mt19937 random_;
  KnownCpus known_;
  std::deque<PodInfo> pods_;
};

TEST_CASE("masks of memory nodes are answered as Koordinator's trials answer them") {
  RandomTrials random(24);
  // KOORD_LONG_TESTS: a million.
  const std::size_t rounds = ::koord::test::is_long() ? 1'000'000 : ::koord::test::hostile(4000);
  std::size_t hints = 0, refused = 0;
  ScoredResources scored;
  for (const auto& [name, id] : {std::pair(cpu_name(), kCpu), std::pair(kMemoryName, kMemory)})
    scored.resources.push_back({name, id, false, 1});
  for (std::size_t i = 0; i < rounds; ++i) {
    const Trial trial = random.make(i % 50 == 0 ? 8 : 1 + random.below(4));
    const ResourceScorer scorer(
        trial.most ? ResourceScorer::Strategy::most_allocated : ResourceScorer::Strategy::least_allocated,
        {});
    const Room room(trial.node, trial.ledger, trial.demand, trial.binding);
    std::vector<NumaHintList> lists;
    room.hints(scorer, scored, trial.restricted, {}, lists);
    const auto expected = Trials(trial).hints();
    INFO("case " << i);
    REQUIRE(lists.size() == expected.size());
    for (const NumaHintList& list : lists) {
      INFO(list.resource);
      REQUIRE((list.hints && *list.hints == expected.at(list.resource)));
      hints += list.hints->size();
      refused += list.hints->empty() ? 1 : 0;
      for (const NumaHint& hint : *list.hints) {
        // What is promised can be had.
        REQUIRE(room.lacks(hint.nodes).empty());
        const auto shares = room.shares(hint.nodes);
        if (trial.binding.cpus) {
          const auto cpus = room.pick(shares, ZoneStrategy::least_allocated);
          REQUIRE(cpus.has_value());
          REQUIRE(cpus->size() == trial.demand.cpus());
        }
      }
    }
  }
  CHECK(hints > rounds);
  CHECK(refused > rounds / 20);
}

TEST_CASE("of machines with more than eight memory nodes one, two and all of them are looked at") {
  Trial trial;
  KnownCpus known;
  const NumaMachine machine{.cpus = {2, 6, 2, 1}};
  trial.node = make_numa_node(machine.node("n").get(), read_topology(*machine.topology("n"), known));
  trial.ledger.bind(trial.node);
  trial.demand.cpu = 4000;
  trial.demand.amounts = {{cpu_name(), 4000}};
  std::vector<NumaHintList> lists;
  Room(trial.node, trial.ledger, trial.demand, {})
      .hints(ResourceScorer(ResourceScorer::Strategy::least_allocated, {}), {}, false, {}, lists);
  REQUIRE(lists.size() == 1);
  CHECK(lists[0].hints->size() == 12 * 11 / 2 + 1);
  CHECK(lists[0].hints->front() == NumaHint{0b11, true, 0});
}

}  // namespace
}  // namespace koord::scheduling::test
