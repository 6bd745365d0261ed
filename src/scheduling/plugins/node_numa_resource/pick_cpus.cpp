// pick_cpus: see pick_cpus.hpp. Each step counts free CPUs by core, memory node and socket, finds the place
// by these sums, and only then looks at single CPUs.
#include "scheduling/plugins/node_numa_resource/pick_cpus.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace koord::scheduling::node_numa_resource {

namespace {

using Cpu = std::uint16_t;
using Cpus = std::vector<Cpu>;
using Counts = std::vector<int>;

class Picker {
 public:
  Picker(const CpuChoice& from, const CpuSet& available, const CpuRequest& request)
      : from_(from),
        topology_(from.topology),
        request_(request),
        needed_(request.count),
        free_(topology_.end()),
        left_(available.cpus()),
        core_is_alone_(topology_.cores().size()),
        zone_is_alone_(topology_.zones().size()) {
    for (const int cpu : left_) free_[static_cast<std::size_t>(cpu)] = true;
    if (request_.exclusive == Exclusive::pcpu_level)
      for (const int cpu : from.alone_on_core.cpus())
        if (topology_.all().contains(cpu)) core_is_alone_[topology_.place(cpu).core] = true;
    if (request_.exclusive == Exclusive::numa_node_level)
      for (const int cpu : from.alone_on_zone.cpus())
        if (topology_.all().contains(cpu)) zone_is_alone_[topology_.place(cpu).zone] = true;
  }

  std::optional<CpuSet> pick() {
    if (needed_ < 1) return taken_;
    if (needed_ > static_cast<int>(left_.size())) return {};
    const bool full = request_.bind == BindPolicy::full_pcpus;
    if ((full || topology_.cpus_per_core() == 1) && whole_cores()) return taken_;
    if (!full && spread_in_one()) return taken_;
    for (const bool alone : {true, false}) {
      for (const Cpu cpu : round_by_core(near_what_is_taken(alone))) {
        take(cpu);
        if (needed_ < 1) return taken_;
      }
    }
    return {};
  }

 private:
  bool is_free(int cpu) const { return free_[static_cast<std::size_t>(cpu)]; }
  void take(Cpu cpu) {
    taken_.add(cpu);
    free_[cpu] = false;
    --needed_;
    // Nobody asks unless the level is the request's own.
    core_is_alone_[topology_.place(cpu).core] = request_.exclusive == Exclusive::pcpu_level;
    zone_is_alone_[topology_.place(cpu).zone] = request_.exclusive == Exclusive::numa_node_level;
  }
  /// The first of them that are needed.
  bool take_first(const Cpus& cpus) {
    for (std::size_t i = 0; needed_ > 0; ++i) take(cpus[i]);
    return true;
  }
  int refs(Cpu cpu) const { return cpu < from_.refs.size() ? from_.refs[cpu] : 0; }

  /// The fuller place first, or the emptier one.
  int by_strategy(int free) const { return request_.strategy == ZoneStrategy::most_allocated ? free : -free; }

  /// The free CPUs of cores that are wholly free, the cores in order, in those of which `in` is true.
  template <class In>
  Cpus free_cores(const In& in) const {
    struct Whole {
      int refs;
      std::size_t core;
    };
    std::vector<Whole> whole;
    for (std::size_t i = 0; i < topology_.cores().size(); ++i) {
      const CpuTopology::Core& core = topology_.cores()[i];
      if (!in(core)) continue;
      int free = 0, used = 0;
      for (const Cpu cpu : topology_.cpus_of(core)) {
        if (!is_free(cpu)) continue;
        ++free;
        if (from_.max_refs > 1) used += refs(cpu);
      }
      if (free == topology_.cpus_per_core()) whole.push_back({used, i});
    }
    if (from_.max_refs > 1) std::ranges::stable_sort(whole, {}, &Whole::refs);
    Cpus cpus;
    for (const Whole& each : whole)
      for (const Cpu cpu : topology_.cpus_of(topology_.cores()[each.core]))
        if (is_free(cpu)) cpus.push_back(cpu);
    return cpus;
  }

  /// CPUs of wholly free cores, by memory node and by socket, and all that are free by socket; without those
  /// of memory nodes where somebody is alone.
  struct Whole {
    Counts zones, sockets, free_of_sockets;
  };
  Whole count_whole(bool alone) const {
    Whole whole{Counts(topology_.zones().size()), Counts(topology_.sockets().size()),
                Counts(topology_.sockets().size())};
    for (const CpuTopology::Core& core : topology_.cores()) {
      if (alone && zone_is_alone_[core.zone]) continue;
      int free = 0;
      for (const Cpu cpu : topology_.cpus_of(core)) free += is_free(cpu) ? 1 : 0;
      whole.free_of_sockets[core.socket] += free;
      if (free != topology_.cpus_per_core()) continue;
      whole.zones[core.zone] += free;
      whole.sockets[core.socket] += free;
    }
    return whole;
  }

  bool whole_cores() {
    if (needed_ <= topology_.cpus_per_zone()) {
      for (const bool alone : {true, false}) {
        const Whole whole = count_whole(alone);
        std::optional<std::size_t> best;
        const auto rank = [&](std::size_t zone) {
          return std::pair(by_strategy(whole.zones[zone]),
                           by_strategy(whole.free_of_sockets[topology_.zones()[zone].socket]));
        };
        for (std::size_t zone = 0; zone < whole.zones.size(); ++zone)
          if (whole.zones[zone] >= needed_ && (!best || rank(zone) < rank(*best))) best = zone;
        if (best) return take_first(free_cores([&](const auto& core) { return core.zone == *best; }));
      }
    }
    const Whole whole = count_whole(false);
    const auto cores_of = [&](std::size_t socket) {
      return free_cores([&](const auto& core) { return core.socket == socket; });
    };
    std::vector<std::size_t> sockets;
    for (std::size_t socket = 0; socket < whole.sockets.size(); ++socket)
      if (whole.sockets[socket] > 0) sockets.push_back(socket);
    if (needed_ <= topology_.cpus_per_socket()) {
      const auto best = std::ranges::min_element(sockets, {}, [&](std::size_t socket) {
        const bool enough = whole.sockets[socket] >= needed_;
        return std::pair(!enough, by_strategy(whole.sockets[socket]));
      });
      if (best != sockets.end() && whole.sockets[*best] >= needed_) return take_first(cores_of(*best));
    }
    // Beyond one socket: whole ones, the largest first, whatever the strategy; then cores of the smallest.
    std::ranges::stable_sort(sockets, {}, [&](std::size_t socket) { return -whole.sockets[socket]; });
    std::vector<std::size_t> rest;
    for (const std::size_t socket : sockets) {
      if (needed_ < whole.sockets[socket]) {
        rest.push_back(socket);
        continue;
      }
      for (const Cpu cpu : cores_of(socket)) take(cpu);
      if (needed_ < 1) return true;
    }
    std::ranges::stable_sort(rest, {}, [&](std::size_t socket) { return whole.sockets[socket]; });
    const int core = topology_.cpus_per_core();
    for (const std::size_t socket : rest) {
      const Cpus cpus = cores_of(socket);
      for (std::size_t at = 0; at < cpus.size() && needed_ >= core;)
        for (const std::size_t end = at + static_cast<std::size_t>(core); at < end; ++at) take(cpus[at]);
      if (needed_ < 1) return true;
    }
    return false;
  }

  void sort_by_refs(Cpus& cpus) const {
    if (from_.max_refs > 1) std::ranges::stable_sort(cpus, {}, [&](Cpu cpu) { return refs(cpu); });
  }
  /// The first of each core.
  Cpus one_of_each_core(const Cpus& cpus) const {
    std::vector<bool> seen(topology_.cores().size());
    Cpus first;
    for (const Cpu cpu : cpus) {
      auto core = seen[topology_.place(cpu).core];
      if (!core) first.push_back(cpu);
      core = true;
    }
    return first;
  }
  /// The first of each core, then the second ones, ...
  Cpus round_by_core(const Cpus& cpus) const {
    if (cpus.size() <= static_cast<std::size_t>(topology_.cpus_per_core())) return cpus;
    Counts seen(topology_.cores().size());
    std::vector<Cpus> rounds;
    for (const Cpu cpu : cpus) {
      const auto round = static_cast<std::size_t>(seen[topology_.place(cpu).core]++);
      if (round == rounds.size()) rounds.emplace_back();
      rounds[round].push_back(cpu);
    }
    Cpus all;
    all.reserve(cpus.size());
    for (const Cpus& round : rounds) all.insert(all.end(), round.begin(), round.end());
    return all;
  }
  /// The free ones for which `in` is true, ascending.
  template <class In>
  Cpus free_cpus(const In& in) const {
    Cpus cpus;
    for (const int cpu : left_)
      if (is_free(cpu) && in(topology_.place(cpu))) cpus.push_back(static_cast<Cpu>(cpu));
    return cpus;
  }

  /// All of one memory node, or of one socket.
  bool spread_in_one() {
    if (needed_ <= topology_.cpus_per_zone()) {
      for (const bool alone : {true, false}) {
        const auto counts = [&](const CpuTopology::Place& at) {
          return !alone || (!core_is_alone_[at.core] && !zone_is_alone_[at.zone]);
        };
        Counts zones(topology_.zones().size()), sockets(topology_.sockets().size());
        Counts cores(topology_.cores().size()), cores_of_zones(zones.size());
        for (const int cpu : left_) {
          const CpuTopology::Place& at = topology_.place(cpu);
          if (!is_free(cpu) || !counts(at)) continue;
          ++zones[at.zone];
          ++sockets[at.socket];
          if (cores[at.core]++ == 0) ++cores_of_zones[at.zone];
        }
        std::optional<std::size_t> best;
        const auto rank = [&](std::size_t zone) {
          return std::pair(by_strategy(zones[zone]), by_strategy(sockets[topology_.zones()[zone].socket]));
        };
        for (std::size_t zone = 0; zone < zones.size(); ++zone)
          if ((alone ? cores_of_zones : zones)[zone] >= needed_ && (!best || rank(zone) < rank(*best)))
            best = zone;
        if (best)
          return take_spread(free_cpus([&](const auto& at) { return at.zone == *best && counts(at); }),
                             alone);
      }
    }
    if (needed_ <= topology_.cpus_per_socket()) {
      for (const bool alone : {true, false}) {
        const auto counts = [&](const CpuTopology::Place& at) { return !alone || !core_is_alone_[at.core]; };
        Counts sockets(topology_.sockets().size()), cores(topology_.cores().size());
        for (const int cpu : left_) {
          const CpuTopology::Place& at = topology_.place(cpu);
          if (is_free(cpu) && counts(at) && (cores[at.core]++ == 0 || !alone)) ++sockets[at.socket];
        }
        std::optional<std::size_t> best;
        for (std::size_t socket = 0; socket < sockets.size(); ++socket)
          if (sockets[socket] >= needed_ &&
              (!best || by_strategy(sockets[socket]) < by_strategy(sockets[*best])))
            best = socket;
        if (best)
          return take_spread(free_cpus([&](const auto& at) { return at.socket == *best && counts(at); }),
                             alone);
      }
    }
    return false;
  }
  bool take_spread(Cpus cpus, bool alone) {
    sort_by_refs(cpus);
    return take_first(round_by_core(alone ? one_of_each_core(cpus) : cpus));
  }

  /// All that are free, core by core: on the sockets of what is taken first, then by strategy, and of cores
  /// those of which least is free.
  Cpus near_what_is_taken(bool alone) const {
    const auto counts = [&](const CpuTopology::Place& at) {
      return !alone || (!core_is_alone_[at.core] && !zone_is_alone_[at.zone]);
    };
    Counts zones(topology_.zones().size()), sockets(topology_.sockets().size()), near(sockets.size());
    Counts cores(topology_.cores().size()), used(cores.size());
    for (const int cpu : taken_.cpus()) ++near[topology_.place(cpu).socket];
    for (const int cpu : left_) {
      const CpuTopology::Place& at = topology_.place(cpu);
      if (!is_free(cpu) || !counts(at)) continue;
      ++zones[at.zone];
      ++sockets[at.socket];
      ++cores[at.core];
      if (from_.max_refs > 1) used[at.core] += refs(static_cast<Cpu>(cpu));
    }
    std::vector<std::size_t> order;
    for (std::size_t core = 0; core < cores.size(); ++core)
      if (cores[core] > 0) order.push_back(core);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      const CpuTopology::Core& core = topology_.cores()[i];
      return std::tuple(-near[core.socket], by_strategy(sockets[core.socket]), by_strategy(zones[core.zone]),
                        cores[i], core.socket, used[i]);
    });
    Cpus all;
    for (const std::size_t core : order) {
      Cpus cpus;
      for (const Cpu cpu : topology_.cpus_of(topology_.cores()[core]))
        if (is_free(cpu) && counts(topology_.place(cpu))) cpus.push_back(cpu);
      sort_by_refs(cpus);
      all.insert(all.end(), cpus.begin(), cpus.end());
    }
    return all;
  }

  const CpuChoice& from_;
  const CpuTopology& topology_;
  const CpuRequest& request_;
  int needed_;
  std::vector<bool> free_;  // by CPU
  std::vector<int> left_;   // those that were free, ascending
  std::vector<bool> core_is_alone_, zone_is_alone_;
  CpuSet taken_;
};

}  // namespace

BindPolicy parse_bind_policy(std::string_view text) {
  if (text == "FullPCPUs") return BindPolicy::full_pcpus;
  return text == "SpreadByPCPUs" ? BindPolicy::spread_by_pcpus : BindPolicy::none;
}
std::string_view to_string(BindPolicy policy) {
  switch (policy) {
    case BindPolicy::none: return "";
    case BindPolicy::full_pcpus: return "FullPCPUs";
    case BindPolicy::spread_by_pcpus: return "SpreadByPCPUs";
  }
  return "";
}
Exclusive parse_exclusive(std::string_view text) {
  if (text == "PCPULevel") return Exclusive::pcpu_level;
  return text == "NUMANodeLevel" ? Exclusive::numa_node_level : Exclusive::none;
}
std::string_view to_string(Exclusive policy) {
  switch (policy) {
    case Exclusive::none: return "";
    case Exclusive::pcpu_level: return "PCPULevel";
    case Exclusive::numa_node_level: return "NUMANodeLevel";
  }
  return "";
}

std::optional<CpuSet> pick_cpus(const CpuChoice& from, const CpuRequest& request) {
  const CpuSet preferred = from.available & from.preferred;
  const int first = std::min(request.count, preferred.size());
  if (first == 0) return Picker(from, from.available, request).pick();
  CpuRequest part = request;
  part.count = first;
  auto picked = Picker(from, preferred, part).pick();
  if (!picked || first == request.count) return picked;
  part.count = request.count - first;
  const auto others = Picker(from, from.available - preferred, part).pick();
  if (!others) return {};
  return *picked | *others;
}

CpuSet usable_cpus(const CpuTopology& topology, const CpuSet& available, BindPolicy required) {
  if (required == BindPolicy::none) return available;
  CpuSet usable;
  for (const CpuTopology::Core& core : topology.cores()) {
    const auto cpus = topology.cpus_of(core);
    const auto free = std::ranges::count_if(cpus, [&](Cpu cpu) { return available.contains(cpu); });
    if (required == BindPolicy::full_pcpus && free != topology.cpus_per_core()) continue;
    for (const Cpu cpu : cpus) {
      if (!available.contains(cpu)) continue;
      usable.add(cpu);
      if (required == BindPolicy::spread_by_pcpus) break;
    }
  }
  return usable;
}

bool satisfies(const CpuTopology& topology, const CpuSet& cpus, BindPolicy required) {
  if (required == BindPolicy::none) return true;
  std::vector<bool> seen(topology.cores().size());
  int cores = 0;
  for (const int cpu : cpus.cpus()) {
    auto core = seen[topology.place(cpu).core];
    if (!core) ++cores;
    core = true;
  }
  return cores * (required == BindPolicy::full_pcpus ? topology.cpus_per_core() : 1) == cpus.size();
}

}  // namespace koord::scheduling::node_numa_resource
