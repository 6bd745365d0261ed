// Which CPUs a pod gets: see numa_cpus.hpp.
#include "support/reference/numa_cpus.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace koord::reference {

namespace {

using List = std::vector<int>;

class Picker {
 public:
  Picker(const Machine& machine, const Cpus& free, const Wish& wish)
      : machine_(machine), free_(free), wish_(wish), needed_(wish.count) {
    for (const int cpu : machine.alone_on_core)
      if (machine.cpus.contains(cpu)) alone_cores_.insert(place(cpu).core);
    for (const int cpu : machine.alone_on_zone)
      if (machine.cpus.contains(cpu)) alone_zones_.insert(place(cpu).zone);
  }

  std::optional<Cpus> pick() {
    if (needed_ < 1) return result_;
    if (needed_ > static_cast<int>(free_.size())) return std::nullopt;
    const bool full = wish_.bind == "FullPCPUs";
    if (full || machine_.per_core == 1)
      if (whole_cores()) return result_;
    if (!full && close_together()) return result_;
    for (const bool alone : {true, false}) {
      for (const int cpu : spread(by_preference(alone))) {
        if (needed_ < 1) break;
        take({cpu});
      }
      if (needed_ < 1) return result_;
    }
    return std::nullopt;
  }

 private:
  const Machine::Place& place(int cpu) const { return machine_.cpus.at(cpu); }
  void take(const List& cpus) {
    for (const int cpu : cpus) {
      result_.insert(cpu);
      free_.erase(cpu);
      if (wish_.exclusive == "PCPULevel") alone_cores_.insert(place(cpu).core);
      if (wish_.exclusive == "NUMANodeLevel") alone_zones_.insert(place(cpu).zone);
    }
    needed_ -= static_cast<int>(cpus.size());
  }
  bool take_from_first(const std::vector<List>& lists, bool spreads) {
    for (const List& list : lists) {
      if (static_cast<int>(list.size()) < needed_) continue;
      const List from = spreads ? spread(list) : list;
      take(List(from.begin(), from.begin() + needed_));
      return true;
    }
    return false;
  }

  bool is_alone_core(int cpu) const {
    return wish_.exclusive == "PCPULevel" && alone_cores_.contains(place(cpu).core);
  }
  bool is_alone_zone(int cpu) const {
    return wish_.exclusive == "NUMANodeLevel" && alone_zones_.contains(place(cpu).zone);
  }
  /// More free ones first, or fewer.
  std::int64_t by_strategy(std::size_t count) const {
    return wish_.most_allocated ? static_cast<std::int64_t>(count) : -static_cast<std::int64_t>(count);
  }

  std::map<std::int64_t, List> cores(bool apart) const {
    std::map<std::int64_t, List> cores;
    for (const int cpu : free_)
      if (!apart || !is_alone_zone(cpu)) cores[place(cpu).core].push_back(cpu);
    return cores;
  }
  /// CPUs of cores that are free as a whole.
  std::vector<List> whole_by_zone(bool apart) const {
    std::map<int, List> zones;
    std::map<int, std::size_t> of_socket;
    for (const auto& [core, cpus] : cores(apart)) {
      of_socket[place(cpus[0]).socket] += cpus.size();
      if (static_cast<int>(cpus.size()) != machine_.per_core) continue;
      List& of = zones[place(cpus[0]).zone];
      of.insert(of.end(), cpus.begin(), cpus.end());
    }
    return sorted(zones, [&](int zone, const List& cpus) {
      return std::tuple(by_strategy(cpus.size()), by_strategy(of_socket[place(cpus[0]).socket]), zone);
    });
  }
  std::vector<List> whole_by_socket() const {
    std::map<int, List> sockets;
    for (const auto& [core, cpus] : cores(false)) {
      if (static_cast<int>(cpus.size()) != machine_.per_core) continue;
      List& of = sockets[place(cpus[0]).socket];
      of.insert(of.end(), cpus.begin(), cpus.end());
    }
    return sorted(sockets, [&](int socket, const List& cpus) {
      return std::tuple(by_strategy(cpus.size()), std::int64_t{0}, socket);
    });
  }
  template <class Rank>
  static std::vector<List> sorted(const std::map<int, List>& of, const Rank& rank) {
    std::vector<std::pair<int, List>> all(of.begin(), of.end());
    std::stable_sort(all.begin(), all.end(),
                     [&](auto& a, auto& b) { return rank(a.first, a.second) < rank(b.first, b.second); });
    std::vector<List> lists;
    for (auto& [id, cpus] : all) lists.push_back(std::move(cpus));
    return lists;
  }

  bool whole_cores() {
    if (needed_ <= machine_.per_zone)
      for (const bool apart : {true, false})
        if (take_from_first(whole_by_zone(apart), false)) return true;
    if (needed_ <= machine_.per_socket && take_from_first(whole_by_socket(), false)) return true;
    // Whole sockets, the largest first, then what is missing of the smallest that are left.
    std::vector<List> sockets = whole_by_socket(), rest;
    std::stable_sort(sockets.begin(), sockets.end(), [](auto& a, auto& b) { return a.size() > b.size(); });
    for (const List& cpus : sockets) {
      if (needed_ < static_cast<int>(cpus.size())) {
        rest.push_back(cpus);
        continue;
      }
      take(cpus);
      if (needed_ < 1) return true;
    }
    std::stable_sort(rest.begin(), rest.end(), [](auto& a, auto& b) { return a.size() < b.size(); });
    for (const List& cpus : rest)
      for (auto core = cpus.begin(); core != cpus.end(); core += machine_.per_core) {
        // Never more than it asks for.
        if (needed_ < machine_.per_core) return needed_ < 1;
        take(List(core, core + machine_.per_core));
      }
    return needed_ < 1;
  }

  List one_of_each_core(const List& cpus) const {
    List first;
    std::set<std::int64_t> seen;
    for (const int cpu : cpus)
      if (seen.insert(place(cpu).core).second) first.push_back(cpu);
    return first;
  }
  bool close_together() {
    if (needed_ <= machine_.per_zone)
      for (const bool apart : {true, false}) {
        std::map<int, List> zones;
        std::map<int, std::size_t> of_zone, of_socket;
        for (const int cpu : free_) {
          if (apart && (is_alone_core(cpu) || is_alone_zone(cpu))) continue;
          zones[place(cpu).zone].push_back(cpu);
          ++of_zone[place(cpu).zone];
          ++of_socket[place(cpu).socket];
        }
        if (apart)
          for (auto& [zone, cpus] : zones) cpus = one_of_each_core(cpus);
        const auto lists = sorted(zones, [&](int zone, const List& cpus) {
          return std::tuple(by_strategy(of_zone[zone]), by_strategy(of_socket[place(cpus[0]).socket]), zone);
        });
        if (take_from_first(lists, true)) return true;
      }
    if (needed_ <= machine_.per_socket)
      for (const bool apart : {true, false}) {
        std::map<int, List> sockets;
        for (const int cpu : free_)
          if (!apart || !is_alone_core(cpu)) sockets[place(cpu).socket].push_back(cpu);
        if (apart)
          for (auto& [socket, cpus] : sockets) cpus = one_of_each_core(cpus);
        const auto lists = sorted(sockets, [&](int socket, const List& cpus) {
          return std::tuple(by_strategy(cpus.size()), std::int64_t{0}, socket);
        });
        if (take_from_first(lists, true)) return true;
      }
    return false;
  }

  List by_preference(bool apart) const {
    std::map<std::int64_t, List> cores;
    std::map<int, std::size_t> of_zone, of_socket, chosen;
    for (const int cpu : free_) {
      if (apart && (is_alone_core(cpu) || is_alone_zone(cpu))) continue;
      cores[place(cpu).core].push_back(cpu);
      ++of_zone[place(cpu).zone];
      ++of_socket[place(cpu).socket];
    }
    for (const int cpu : result_) ++chosen[place(cpu).socket];
    std::vector<std::pair<std::int64_t, List>> all(cores.begin(), cores.end());
    const auto rank = [&](const auto& core) {
      const auto& [number, cpus] = core;
      const int zone = place(cpus[0]).zone, socket = place(cpus[0]).socket;
      return std::tuple(-static_cast<std::int64_t>(chosen[socket]), by_strategy(of_socket[socket]),
                        by_strategy(of_zone[zone]), cpus.size(), socket, number);
    };
    std::stable_sort(all.begin(), all.end(), [&](auto& a, auto& b) { return rank(a) < rank(b); });
    List list;
    for (const auto& [core, cpus] : all) list.insert(list.end(), cpus.begin(), cpus.end());
    return list;
  }
  /// The first of each core, then the second of each, and so on.
  List spread(const List& cpus) const {
    if (static_cast<int>(cpus.size()) <= machine_.per_core) return cpus;
    List out, left = cpus;
    while (!left.empty()) {
      const List first = one_of_each_core(left);
      out.insert(out.end(), first.begin(), first.end());
      std::erase_if(left, [&](int cpu) { return std::count(first.begin(), first.end(), cpu) > 0; });
    }
    return out;
  }

  const Machine& machine_;
  Cpus free_;
  const Wish& wish_;
  int needed_;
  std::set<std::int64_t> alone_cores_;
  std::set<int> alone_zones_;
  Cpus result_;
};

std::map<std::int64_t, List> by_core(const Machine& machine, const Cpus& cpus) {
  std::map<std::int64_t, List> cores;
  for (const int cpu : cpus) cores[machine.cpus.at(cpu).core].push_back(cpu);
  return cores;
}

}  // namespace

std::optional<Cpus> take_cpus(const Machine& machine, const Cpus& free, const Wish& wish) {
  return Picker(machine, free, wish).pick();
}

Cpus usable(const Machine& machine, const Cpus& free, const std::string& bind) {
  Cpus left;
  for (const auto& [core, cpus] : by_core(machine, free)) {
    if (bind == "SpreadByPCPUs")
      left.insert(cpus[0]);
    else if (static_cast<int>(cpus.size()) == machine.per_core)
      left.insert(cpus.begin(), cpus.end());
  }
  return left;
}

bool keeps(const Machine& machine, const Cpus& cpus, const std::string& bind) {
  const std::size_t cores = by_core(machine, cpus).size();
  return cpus.size() == (bind == "FullPCPUs" ? cores * static_cast<std::size_t>(machine.per_core) : cores);
}

}  // namespace koord::reference
