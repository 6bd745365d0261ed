// Reservations that take running pods over, random pods, failures and new engines, beside a reckoning from
// the objects alone: at each step a pod is one reservation's, everything counts once, and no node has more
// than it can.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "koord/scheduling/cluster/placeholder.hpp"
#include "pre_allocation_rig.hpp"

namespace koord::scheduling::test {
namespace {

using PW = PreAllocationWorld;
using reservation::Facts;
using Pod = std::shared_ptr<const api::Pod>;

struct Two {
  std::int64_t cpu = 0, memory = 0;
  Two& operator+=(const Two& o) { return cpu += o.cpu, memory += o.memory, *this; }
  friend Two operator-(Two a, const Two& b) { return {a.cpu - b.cpu, a.memory - b.memory}; }
  bool within(const Two& o) const { return cpu <= o.cpu && memory <= o.memory; }
};
Two least(const Two& a, const Two& b) { return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)}; }
Two of(const api::ResourceList& list) {
  const auto* const cpu = list.find("cpu");
  const auto* const memory = list.find("memory");
  return {cpu != nullptr ? cpu->milli_value() : 0, memory != nullptr ? memory->value() : 0};
}
Two asked_by(const api::Pod& pod) { return of(pod.spec.containers[0].resources.requests); }
std::string room_of(const api::Pod& pod) {
  auto said = api::read_annotation<api::ReservationAllocated>(pod.metadata.annotations);
  return said && *said ? (*said)->uid : std::string();
}

/// A reservation that has a node, and is not bound there yet.
struct Flying {
  Decision decision;
  std::set<std::string> pods;  // that were chosen, by name
};

struct Play {
  explicit Play(unsigned seed) : random(seed) { begin(); }
  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  template <class Map>
  auto any_of(Map& map) {
    auto it = map.begin();
    std::advance(it, below(static_cast<int>(map.size())));
    return it;
  }

  /// An engine that knows nothing but the objects.
  void begin() {
    flying.clear();
    world = std::make_unique<PreAllocationWorld>(
        fmt::format(R"({{"enableClusterMode":true,"preferNoPreAllocatedPods":{}}})", below(2) == 0));
    const auto nodes = [&] {
      for (int n = 0; n < 3; ++n) world->engine.put_node(make_node(fmt::format("n{}", n), "8", "16Gi"));
    };
    const auto put_pods = [&] {
      for (const auto& [name, pod] : pods) world->engine.put_pod(pod);
    };
    const bool first = below(2) == 0;
    if (first) nodes();
    if (below(2) == 0) put_pods();
    for (const auto& [name, r] : reservations) world->engine.put_object(r);
    put_pods();
    if (!first) nodes();
  }

  void new_reservation(const std::string& name) {
    const std::string app = fmt::format("a{}", below(2));
    reservations[name] =
        PW::reserving(name, std::to_string(1 + below(5)), fmt::format("{}Gi", 1 + below(8)),
                      {below(2) == 0, below(3) == 0, below(3) == 0}, [&](api::Reservation& r) {
                        r.spec.allocate_once = below(3) == 0;
                        r.spec.owners[0].label_selector->match_labels["app"] = Symbol(app);
                        if (below(4) == 0)
                          r.metadata.annotations["scheduling.koordinator.sh/reservation-restricted-options"] =
                              R"({"resources":["cpu"]})";
                      });
    world->engine.put_object(reservations[name]);
  }

  /// All that it wants to do now; what becomes of reservations is seen later.
  void schedule() {
    world->clock.advance(std::chrono::seconds(20));
    for (const Decision& d : world->run()) {
      if (reservation::is_reserve_pod(*d.pod)) {
        if (d.kind() != Decision::Kind::bind) continue;
        const std::string name(placed_name(*d.pod).name);
        Flying& f = flying[name] = {d, {}};
        for (const Pod& pod : world->owners(d.pod->metadata.uid, d.node().view()))
          f.pods.insert(pod->metadata.name);
        check_chosen(f, Facts(*reservations.at(name)));
      } else if (d.kind() != Decision::Kind::bind) {
        world->engine.remove_pod(*d.pod);
      } else if (below(4) == 0) {
        world->engine.binding_failed(*d.pod);
        world->engine.remove_pod(*d.pod);
      } else {
        world->engine.put_pod(pods[d.pod->metadata.name] = RW::bound(d));
      }
    }
  }
  using RW = ReservationWorld;

  void check_chosen(const Flying& f, const Facts& r) {
    Two sum;
    bool fresh = false;
    for (const std::string& name : f.pods) {
      const api::Pod& pod = *pods.at(name);
      const std::string before = room_of(pod);
      REQUIRE((before.empty() || before == r.uid));
      fresh = fresh || before.empty();
      sum += asked_by(pod);
      if (before == r.uid) continue;
      REQUIRE((r.from_cluster ? pod.metadata.labels.contains("pod.koordinator.sh/is-pre-allocatable")
                              : r.owners.matches(pod)));
    }
    if (r.required) REQUIRE_FALSE(f.pods.empty());
    if (!r.several && fresh) REQUIRE(f.pods.size() == 1);
    if (r.counts("memory") && fresh) REQUIRE(sum.within(of(r.allocatable)));
    taken_over += f.pods.size();
    ++placed;
  }

  void end(std::string of) {
    const std::string name = std::move(of);  // the caller names an entry that goes
    const Flying f = std::move(flying.extract(name).mapped());
    const auto& r = reservations.at(name);
    const bool all_there = std::ranges::all_of(f.pods, [&](const std::string& pod) {
      return pods.contains(pod) && (room_of(*pods[pod]).empty() || room_of(*pods[pod]) == r->metadata.uid);
    });
    const bool succeeds = all_there && below(3) != 0;
    int writes = succeeds ? 1000 : below(3);
    for (const std::string& pod : f.pods) {
      if (!pods.contains(pod) || !room_of(*pods[pod]).empty() || writes-- <= 0) continue;
      pods[pod] = changed(pods[pod], PW::with_room_of(name));
      // Whether the reservation is told of first is anybody's guess.
      if (below(2) == 0) world->engine.put_pod(pods[pod]);
    }
    if (succeeds) {
      reservations[name] = world->put_on(r, f.decision.node().view());
    } else {
      world->engine.binding_failed(*f.decision.pod);
      ++failed;
    }
    for (const std::string& pod : f.pods)
      if (pods.contains(pod)) world->engine.put_pod(pods[pod]);
  }

  void step(int number) {
    const std::string node = fmt::format("n{}", below(3));
    switch (below(9)) {
      case 0:
      case 1: {  // a pod that is there already, where there is room
        const std::string name = fmt::format("p{}", number);
        const auto pod = PW::running(
            name, std::to_string(1 + below(3)), fmt::format("{}Gi", 1 + below(4)),
            fmt::format("a{}", below(3)),
            [&](api::Pod& p) {
              if (below(2) == 0) p.metadata.labels["pod.koordinator.sh/is-pre-allocatable"] = "true";
            },
            node.c_str());
        const Two free = Two{8000, std::int64_t{16} << 30} - used(node);
        if (asked_by(*pod).within(free)) world->engine.put_pod(pods[name] = pod);
        break;
      }
      case 2:
      case 3: new_reservation(fmt::format("r{}", number)); break;
      case 4:
        world->engine.put_pod(make_pod(fmt::format("o{}", number), std::to_string(1 + below(3)), "1Gi",
                                       RW::owner_of(fmt::format("a{}", below(2)))));
        break;
      case 5:
        if (pods.empty()) break;
        if (const auto it = any_of(pods); below(2) == 0) {
          world->engine.remove_pod(*it->second);
          pods.erase(it);
        } else {
          it->second = changed(it->second, [&](api::Pod& p) {
            if (below(2) == 0) p.metadata.labels["app"] = Symbol(fmt::format("a{}", below(3)));
            p.status.message = fmt::format("{}", number);
          });
          world->engine.put_pod(it->second);
        }
        break;
      case 6:
        if (reservations.empty()) break;
        if (const auto it = any_of(reservations); true) {
          const auto f = flying.extract(it->first);
          world->engine.remove_object(it->second);
          if (f) world->engine.binding_failed(*f.mapped().decision.pod);
          reservations.erase(it);
        }
        break;
      case 7:
        if (!flying.empty()) end(any_of(flying)->first);
        break;
      case 8:
        if (below(4) == 0) begin();
        break;
    }
    schedule();
  }

  /// From the objects, and what is being done.
  Two used(const std::string& node) const {
    Two sum;
    for (const auto& [name, pod] : pods)
      if (pod->spec.node_name == node) sum += asked_by(*pod);
    for (const auto& [name, object] : reservations) {
      const Facts r(*object);
      const auto f = flying.find(name);
      const bool comes = f != flying.end() && f->second.decision.node() == node;
      if (!comes && !(r.available && r.node == node)) continue;
      Two taken;
      for (const auto& [pod_name, pod] : pods) {
        if (pod->spec.node_name != node) continue;
        const std::string said = room_of(*pod);
        if (said == r.uid || (said.empty() && comes && f->second.pods.contains(pod_name)))
          taken += asked_by(*pod);
      }
      if (!r.counts("memory")) taken.memory = 0;
      sum += of(r.allocatable) - least(of(r.allocatable), taken);
    }
    return sum;
  }
  void check() {
    for (int n = 0; n < 3; ++n) {
      const std::string node = fmt::format("n{}", n);
      const Two expected = used(node);
      INFO(node);
      REQUIRE(world->used(kCpu, node) == expected.cpu);
      REQUIRE(world->used(kMemory, node) == expected.memory);
      REQUIRE(expected.within({8000, std::int64_t{16} << 30}));
    }
  }

  std::mt19937 random;
  std::unique_ptr<PreAllocationWorld> world;
  std::map<std::string, Pod> pods;
  std::map<std::string, RW::Reserved> reservations;
  std::map<std::string, Flying> flying;
  std::size_t placed = 0, taken_over = 0, failed = 0;
};

TEST_CASE("whatever happens to reservations that take pods over, everything counts once") {
  std::size_t placed = 0, taken_over = 0, failed = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Play play(seed);
    for (int step = 0; step < 150; ++step) {
      INFO("seed " << seed << ", step " << step);
      play.step(step);
      play.check();
    }
    placed += play.placed;
    taken_over += play.taken_over;
    failed += play.failed;
  }
  CHECK(placed > 150);
  CHECK(taken_over > 100);
  CHECK(failed > 20);
}

}  // namespace
}  // namespace koord::scheduling::test
