// Which CPUs a pod gets: Koordinator's published rows, and random machines beside a plain, slow reference.
#include "scheduling/plugins/node_numa_resource/pick_cpus.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cpu_machines.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

using namespace node_numa_resource;

constexpr auto kFull = BindPolicy::full_pcpus, kSpread = BindPolicy::spread_by_pcpus;
constexpr auto kLeast = ZoneStrategy::least_allocated, kMost = ZoneStrategy::most_allocated;
constexpr auto kNone = Exclusive::none, kCore = Exclusive::pcpu_level, kZone = Exclusive::numa_node_level;

CpuSet list(std::string_view text) { return std::move(CpuSet::parse(text)).value(); }

std::string text(const std::optional<CpuSet>& picked) { return picked ? picked->to_string() : "none"; }

TEST_CASE("CPUs are picked as Koordinator's published rows have it") {
  struct Row {
    CpuMachine machine;
    const char* taken;
    int count;
    const char* picked;
  };
  struct Table {
    const char* name;
    BindPolicy bind;
    ZoneStrategy strategy;
    std::vector<Row> rows;
  };
  const CpuMachine small{1, 1, 4, 2}, two{2, 1, 4, 2}, four{2, 2, 4, 2}, short_four{2, 2, 2, 2};
  const std::vector<Table> tables = {
      {"whole cores, the fuller place first",
       kFull,
       kMost,
       {{small, "", 2, "0-1"},
        {small, "0-1", 2, "2-3"},
        {two, "", 8, "0-7"},
        {two, "", 12, "0-11"},
        {two, "0-1", 8, "8-15"},
        {four, "0-5,16-23", 6, "24-29"},
        {four, "0-5,16-23", 12, "6-15,24-25"},
        {four, "0-3,8-11", 4, "4-7"},
        {short_four, "0,2,4,8,12", 4, "10-11,14-15"},
        {short_four, "0,2,4,8,10,12", 6, "5-7,13-15"},
        {short_four, "0,2,4,8-10,12", 6, "6-7,11,13-15"}}},
      {"whole cores, the emptier place first",
       kFull,
       kLeast,
       {{small, "", 2, "0-1"},
        {small, "0-1", 2, "2-3"},
        {two, "", 8, "0-7"},
        {two, "", 12, "0-11"},
        {two, "0-1", 8, "8-15"},
        {four, "0-5,16-23", 6, "8-13"},
        {four, "0-5,16-23", 12, "6-15,24-25"},
        {four, "0-3,8-11", 4, "16-19"},
        {short_four, "0,2,4,8,12", 4, "10-11,14-15"},
        {short_four, "0,2,4,8,10,12", 6, "1,3,6-7,14-15"},
        {four, "0,2,4,8-10,12", 6, "16-21"}}},
      {"one of each core, the fuller place first",
       kSpread,
       kMost,
       {{small, "", 4, "0,2,4,6"},
        {two, "0,2", 4, "1,3-4,6"},
        {two, "0-3", 4, "8,10,12,14"},
        {two, "0,2", 6, "1,3-7"}}},
      {"one of each core, the emptier place first",
       kSpread,
       kLeast,
       {{small, "", 4, "0,2,4,6"},
        {two, "0,2", 4, "8,10,12,14"},
        {two, "0-3", 4, "8,10,12,14"},
        {two, "0,2", 6, "8-12,14"}}},
  };
  for (const Table& table : tables) {
    int number = 0;
    for (const Row& row : table.rows) {
      INFO(table.name << ", row " << ++number);
      const CpuTopology topology = cpu_topology(row.machine);
      const auto picked =
          pick_cpus({.topology = topology, .available = topology.all() - list(row.taken)},
                    {.count = row.count, .bind = table.bind, .exclusive = kNone, .strategy = table.strategy});
      CHECK(text(picked) == row.picked);
    }
  }
}

TEST_CASE("CPUs of pods that want to be exclusive are picked as Koordinator's published rows have it") {
  struct Row {
    CpuMachine machine;
    const char* taken;
    Exclusive of_taken;
    BindPolicy bind;
    Exclusive exclusive;
    int count;
    const char* picked;
  };
  const CpuMachine two{2, 1, 4, 2}, large{2, 1, 8, 2};
  const Row rows[] = {
      {two, "0,2", kCore, kSpread, kCore, 4, "8,10,12,14"},
      {two, "", kCore, kSpread, kCore, 10, "0-4,6,8,10,12,14"},
      {large, "0,2", kCore, kSpread, kCore, 4, "4,6,8,10"},
      {large, "0,2", kCore, kSpread, kNone, 4, "1,3-4,6"},
      {two, "0,2", kZone, kSpread, kZone, 4, "8,10,12,14"},
      {two, "0,2", kZone, kSpread, kNone, 4, "1,3-4,6"},
      {two, "0,2", kZone, kFull, kZone, 4, "8-11"},
      {two, "0,2", kZone, kFull, kNone, 4, "4-7"},
  };
  int number = 0;
  for (const Row& row : rows) {
    INFO("row " << ++number);
    const CpuTopology topology = cpu_topology(row.machine);
    const CpuSet taken = list(row.taken);
    const auto picked =
        pick_cpus({.topology = topology,
                   .available = topology.all() - taken,
                   .alone_on_core = row.of_taken == kCore ? taken : CpuSet(),
                   .alone_on_zone = row.of_taken == kZone ? taken : CpuSet()},
                  {.count = row.count, .bind = row.bind, .exclusive = row.exclusive, .strategy = kMost});
    CHECK(text(picked) == row.picked);
  }
}

TEST_CASE(
    "CPUs that several pods may have go to those first that fewer have, as the published rows have it") {
  struct Step {
    BindPolicy bind;
    int count;
    const char* picked;
  };
  const auto run = [](const CpuMachine& machine, const std::vector<Step>& steps) {
    const CpuTopology topology = cpu_topology(machine);
    std::vector<std::uint16_t> refs(topology.end());
    for (const Step& step : steps) {
      CpuSet available;
      for (const int cpu : topology.all().cpus())
        if (refs[static_cast<std::size_t>(cpu)] < 2) available.add(cpu);
      const auto picked =
          pick_cpus({.topology = topology, .available = available, .max_refs = 2, .refs = refs},
                    {.count = step.count, .bind = step.bind, .exclusive = kNone, .strategy = kMost});
      CHECK(text(picked) == step.picked);
      if (picked)
        for (const int cpu : picked->cpus()) ++refs[static_cast<std::size_t>(cpu)];
    }
  };
  run({1, 1, 4, 2}, {{kFull, 4, "0-3"}, {kFull, 5, "0,4-7"}, {kFull, 4, "2-5"}});
  run({1, 1, 16, 2}, {{kSpread, 16, "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30"},
                      {kFull, 16, "0-15"},
                      {kSpread, 16, "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31"},
                      {kFull, 16, "16-31"},
                      {kSpread, 1, "none"}});
}

TEST_CASE("preferred CPUs are picked first") {
  const CpuTopology topology = cpu_topology({2, 1, 16, 2});
  const CpuRequest request{.count = 2, .bind = kSpread, .exclusive = kNone, .strategy = kMost};
  const auto pick = [&](const CpuSet& available, std::string_view preferred) {
    return text(
        pick_cpus({.topology = topology, .available = available, .preferred = list(preferred)}, request));
  };
  CHECK(pick(topology.all(), "") == "0,2");
  CHECK(pick(topology.all(), "0,2") == "0,2");
  CHECK(pick(topology.all() - list("0,2"), "") == "1,3");
  CHECK(pick(topology.all(), "11,13,15,17") == "11,13");
  CHECK(pick(topology.all(), "40") == "32,40");  // the other one of the fuller socket
}

TEST_CASE("CPUs that a required policy can use") {
  const CpuTopology topology = cpu_topology({1, 1, 4, 2});
  CHECK(usable_cpus(topology, list("0,2-5,7"), kFull).to_string() == "2-5");
  CHECK(usable_cpus(topology, list("0,2-5,7"), kSpread).to_string() == "0,2,4,7");
  CHECK(usable_cpus(topology, list("0,2-5,7"), BindPolicy::none).to_string() == "0,2-5,7");
  CHECK(satisfies(topology, list("2-5"), kFull));
  CHECK(!satisfies(topology, list("1-4"), kFull));
  CHECK(satisfies(topology, list("1,2"), kSpread));
  CHECK(!satisfies(topology, list("2,3"), kSpread));
}

TEST_CASE("topologies with holes, and what no kernel reports") {
  api::CpuTopology reported;
  CHECK(!CpuTopology(reported).valid());
  CHECK(!pick_cpus({.topology = CpuTopology(reported), .available = {}}, {.count = 1}));
  reported.detail = {{-1, 0, 0, 0}, {9000, 0, 0, 0}, {2'000'000'000, 0, 0, 0}};
  CHECK(!CpuTopology(reported).valid());
  // Sockets 3 and 7, memory nodes 1 and 5; the core 8 of one is not the core 8 of the other.
  reported.detail = {{4, 8, 3, 1},  {300, 8, 3, 1}, {5, 9, 3, 1}, {301, 9, 3, 1},
                     {90, 8, 7, 5}, {91, 8, 7, 5},  {90, 8, 7, 5}};
  const CpuTopology topology(reported);
  CHECK(topology.all().to_string() == "4-5,90-91,300-301");
  CHECK(topology.cores().size() == 3);
  CHECK(topology.cpus_per_core() == 2);
  REQUIRE(topology.zone(5) != nullptr);
  CHECK(topology.zone(5)->cpus.to_string() == "90-91");
  CHECK(topology.zone(0) == nullptr);
  const auto pick = [&](int count, BindPolicy bind) {
    return text(pick_cpus({.topology = topology, .available = topology.all()},
                          {.count = count, .bind = bind, .exclusive = kNone, .strategy = kMost}));
  };
  CHECK(pick(2, kFull) == "90-91");
  CHECK(pick(4, kFull) == "4-5,300-301");
  CHECK(pick(2, kSpread) == "4-5");
  CHECK(pick(6, kFull) == "4-5,90-91,300-301");
  CHECK(pick(7, kFull) == "none");
}

/// Koordinator's steps one after the other, over sorted lists and maps of single CPUs.
class Reference {
 public:
  Reference(const api::CpuTopology& reported, const CpuChoice& from, const CpuRequest& request)
      : from_(from), request_(request), needed_(request.count) {
    std::set<std::array<int, 3>> cores;
    std::set<std::pair<int, int>> zones;
    std::set<int> sockets;
    for (const api::CpuInfo& cpu : reported.detail) {
      all_[cpu.id] = {cpu.socket << 16 | cpu.core, cpu.node, cpu.socket};
      cores.insert({cpu.socket, cpu.node, cpu.core});
      zones.insert({cpu.socket, cpu.node});
      sockets.insert(cpu.socket);
    }
    const auto cpus = static_cast<int>(all_.size());
    per_core_ = cpus / static_cast<int>(cores.size());
    per_zone_ = cpus / static_cast<int>(zones.size());
    per_socket_ = cpus / static_cast<int>(sockets.size());
  }

  std::optional<CpuSet> pick(const CpuSet& available) {
    for (const int cpu : available.cpus()) free_.insert(cpu);
    for (const int cpu : from_.alone_on_core.cpus()) cores_.insert(all_[cpu].core);
    for (const int cpu : from_.alone_on_zone.cpus()) zones_.insert(all_[cpu].zone);
    if (needed_ > static_cast<int>(free_.size())) return {};
    const bool full = request_.bind == kFull;
    if (full || per_core_ == 1) {
      if (needed_ <= per_zone_)
        for (const bool alone : {true, false})
          for (const auto& cpus : groups(&Cpu::zone, true, alone, false))
            if (enough(cpus)) return first_of(cpus);
      if (needed_ <= per_socket_)
        for (const auto& cpus : groups(&Cpu::socket, true, false, false))
          if (enough(cpus)) return first_of(cpus);
      auto sockets = groups(&Cpu::socket, true, false, false);
      std::stable_sort(sockets.begin(), sockets.end(),
                       [](const auto& a, const auto& b) { return a.size() > b.size(); });
      std::vector<std::vector<int>> rest;
      for (const auto& cpus : sockets) {
        if (needed_ < static_cast<int>(cpus.size())) {
          rest.push_back(cpus);
          continue;
        }
        for (const int cpu : cpus) take(cpu);
        if (needed_ == 0) return taken_;
      }
      std::stable_sort(rest.begin(), rest.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
      for (const auto& cpus : rest)
        for (std::size_t i = 0; i < cpus.size() && needed_ >= per_core_;
             i += static_cast<std::size_t>(per_core_)) {
          for (int k = 0; k < per_core_; ++k) take(cpus[i + static_cast<std::size_t>(k)]);
          if (needed_ == 0) return taken_;
        }
    }
    if (!full) {
      if (needed_ <= per_zone_)
        for (const bool alone : {true, false})
          for (const auto& cpus : groups(&Cpu::zone, false, alone, alone))
            if (enough(cpus)) return first_of(spread(cpus));
      if (needed_ <= per_socket_)
        for (const bool alone : {true, false})
          for (const auto& cpus : groups(&Cpu::socket, false, alone, alone))
            if (enough(cpus)) return first_of(spread(cpus));
    }
    for (const bool alone : {true, false})
      for (const int cpu : spread(nearest(alone))) {
        take(cpu);
        if (needed_ == 0) return taken_;
      }
    return {};
  }

 private:
  struct Cpu {
    int core, zone, socket;
  };
  bool enough(const std::vector<int>& cpus) const { return static_cast<int>(cpus.size()) >= needed_; }
  void take(int cpu) {
    taken_.add(cpu);
    free_.erase(cpu);
    --needed_;
    cores_.insert(all_[cpu].core);
    zones_.insert(all_[cpu].zone);
  }
  CpuSet first_of(const std::vector<int>& cpus) {
    for (std::size_t i = 0; needed_ > 0; ++i) take(cpus[i]);
    return taken_;
  }
  int refs(int cpu) const {
    return from_.max_refs > 1 && static_cast<std::size_t>(cpu) < from_.refs.size()
               ? from_.refs[static_cast<std::size_t>(cpu)]
               : 0;
  }
  int ordered(std::size_t free) const {
    const int number = static_cast<int>(free);
    return request_.strategy == kMost ? number : -number;
  }
  bool core_is_alone(int cpu) { return request_.exclusive == kCore && cores_.count(all_[cpu].core) != 0; }
  bool zone_is_alone(int cpu) { return request_.exclusive == kZone && zones_.count(all_[cpu].zone) != 0; }

  /// The free CPUs of each memory node or socket, in the order in which they are tried.
  std::vector<std::vector<int>> groups(int Cpu::*by, bool whole, bool alone, bool one_of_each) {
    std::map<int, std::vector<int>> cores, groups;
    std::map<int, int> free_of_group, free_of_socket;
    for (const int cpu : free_) {
      if (alone && zone_is_alone(cpu) && by == &Cpu::zone) continue;
      if (alone && core_is_alone(cpu) && !whole) continue;
      cores[all_[cpu].core].push_back(cpu);
      ++free_of_socket[all_[cpu].socket];
      if (!whole) {
        groups[all_[cpu].*by].push_back(cpu);
        ++free_of_group[all_[cpu].*by];
      }
    }
    if (whole) {
      std::vector<std::pair<int, int>> order;  // of cores
      for (const auto& [core, cpus] : cores) {
        int sum = 0;
        for (const int cpu : cpus) sum += refs(cpu);
        order.emplace_back(sum, core);
      }
      std::sort(order.begin(), order.end());
      for (const auto& [sum, core] : order) {
        const auto& cpus = cores[core];
        if (static_cast<int>(cpus.size()) != per_core_) continue;
        auto& group = groups[all_[cpus[0]].*by];
        group.insert(group.end(), cpus.begin(), cpus.end());
        free_of_group[all_[cpus[0]].*by] += per_core_;
      }
    } else {
      for (auto& [id, cpus] : groups) {
        std::stable_sort(cpus.begin(), cpus.end(), [&](int a, int b) { return refs(a) < refs(b); });
        if (!one_of_each) continue;
        std::set<int> seen;
        std::erase_if(cpus, [&](int cpu) { return !seen.insert(all_[cpu].core).second; });
        if (by == &Cpu::socket) free_of_group[id] = static_cast<int>(cpus.size());
      }
    }
    std::vector<int> ids;
    for (const auto& [id, cpus] : groups) ids.push_back(id);
    const auto rank = [&](int id) {
      const int socket = all_[groups[id][0]].socket;
      return std::tuple(ordered(static_cast<std::size_t>(free_of_group[id])),
                        by == &Cpu::zone ? ordered(static_cast<std::size_t>(free_of_socket[socket])) : 0, id);
    };
    std::sort(ids.begin(), ids.end(), [&](int a, int b) { return rank(a) < rank(b); });
    std::vector<std::vector<int>> all;
    for (const int id : ids) all.push_back(groups[id]);
    return all;
  }
  std::vector<int> nearest(bool alone) {
    std::map<int, std::vector<int>> cores;
    std::map<int, std::size_t> zones, sockets;
    std::map<int, int> near;
    for (const int cpu : taken_.cpus()) ++near[all_[cpu].socket];
    for (const int cpu : free_) {
      if (alone && (core_is_alone(cpu) || zone_is_alone(cpu))) continue;
      cores[all_[cpu].core].push_back(cpu);
      ++zones[all_[cpu].zone];
      ++sockets[all_[cpu].socket];
    }
    std::vector<int> order;
    for (const auto& [core, cpus] : cores) order.push_back(core);
    const auto rank = [&](int core) {
      const Cpu& at = all_[cores[core][0]];
      int sum = 0;
      for (const int cpu : cores[core]) sum += refs(cpu);
      return std::tuple(-near[at.socket], ordered(sockets[at.socket]), ordered(zones[at.zone]),
                        cores[core].size(), at.socket, sum, core);
    };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
    std::vector<int> all;
    for (const int core : order) {
      auto cpus = cores[core];
      std::stable_sort(cpus.begin(), cpus.end(), [&](int a, int b) { return refs(a) < refs(b); });
      all.insert(all.end(), cpus.begin(), cpus.end());
    }
    return all;
  }
  std::vector<int> spread(std::vector<int> cpus) {
    if (static_cast<int>(cpus.size()) <= per_core_) return cpus;
    std::vector<int> all;
    while (!cpus.empty()) {
      std::set<int> seen;
      std::vector<int> rest;
      for (const int cpu : cpus) (seen.insert(all_[cpu].core).second ? all : rest).push_back(cpu);
      cpus = rest;
    }
    return all;
  }

  const CpuChoice& from_;
  const CpuRequest& request_;
  int needed_;
  int per_core_ = 0, per_zone_ = 0, per_socket_ = 0;
  std::map<int, Cpu> all_;
  std::set<int> free_, cores_, zones_;
  CpuSet taken_;
};

TEST_CASE("CPUs of random machines are picked as the plain reference does") {
  std::mt19937 random(24);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  const int rounds = static_cast<int>(::koord::test::hostile(20'000));
  int picked = 0;
  for (int i = 0; i < rounds; ++i) {
    const CpuMachine machine{1 + below(3), 1 + below(3), 1 + below(5), 1 + below(2)};
    api::CpuTopology reported = reported_cpus(machine, below(2) == 0);
    if (below(4) == 0)  // threads and cores that are offline
      std::erase_if(reported.detail, [&](const api::CpuInfo&) { return below(6) == 0; });
    if (reported.detail.empty()) continue;
    const CpuTopology topology(reported);
    CpuChoice from{.topology = topology, .available = {}};
    std::vector<std::uint16_t> refs(topology.end());
    from.max_refs = below(4) == 0 ? 2 : 1;
    const unsigned fullness = 1 + random() % 6;
    for (const int cpu : topology.all().cpus()) {
      if (random() % 6 >= fullness) {
        from.available.add(cpu);
        refs[static_cast<std::size_t>(cpu)] = static_cast<std::uint16_t>(below(2));
      } else if (below(3) == 0) {
        (below(2) == 0 ? from.alone_on_core : from.alone_on_zone).add(cpu);
      }
      if (below(10) == 0) from.preferred.add(cpu);
    }
    if (below(2) == 0) from.preferred = {};
    from.refs = refs;
    const CpuRequest request{.count = 1 + below(static_cast<unsigned>(topology.cpus())),
                             .bind = below(2) == 0 ? kFull : kSpread,
                             .exclusive = static_cast<Exclusive>(below(3)),
                             .strategy = below(2) == 0 ? kMost : kLeast};
    const CpuSet preferred = from.available & from.preferred;
    CpuRequest first = request, second = request;
    first.count = std::min(request.count, preferred.size());
    second.count = request.count - first.count;
    std::optional<CpuSet> expected =
        first.count > 0 ? Reference(reported, from, first).pick(preferred) : CpuSet();
    if (second.count > 0) {
      const auto more = Reference(reported, from, second).pick(from.available - preferred);
      expected = expected && more ? std::optional(*expected | *more) : std::nullopt;
    }
    const auto got = pick_cpus(from, request);
    INFO(i << ": " << machine.sockets << "x" << machine.zones << "x" << machine.cores << "x"
           << machine.threads << ", " << request.count << " of " << from.available.to_string());
    REQUIRE(text(got) == text(expected));
    if (!got) continue;
    ++picked;
    REQUIRE(got->size() == request.count);
    REQUIRE(got->is_subset_of(from.available));
  }
  CHECK(picked > rounds / 10);
}

}  // namespace
}  // namespace koord::scheduling::test
