// Random reservations, owners and churn beside a reckoning made anew from the objects at each step.
#include <catch2/catch.hpp>
#include <random>

#include "reservation_rig.hpp"

namespace koord::scheduling::test {
namespace {

using RW = ReservationWorld;
using reservation::Facts;
using Pod = std::shared_ptr<const api::Pod>;

struct Two {
  std::int64_t cpu = 0, memory = 0;
  Two& operator+=(const Two& o) { return cpu += o.cpu, memory += o.memory, *this; }
  Two& operator-=(const Two& o) { return cpu -= o.cpu, memory -= o.memory, *this; }
  friend Two operator-(Two a, const Two& b) { return a -= b; }
  bool within(const Two& o) const { return cpu <= o.cpu && memory <= o.memory; }
};
Two least(const Two& a, const Two& b) { return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)}; }
Two of(const api::ResourceList& list) {
  const auto* const cpu = list.find("cpu");
  const auto* const memory = list.find("memory");
  return {cpu != nullptr ? cpu->milli_value() : 0, memory != nullptr ? memory->value() : 0};
}
Two asked_by(const api::Pod& pod) { return of(pod.spec.containers[0].resources.requests); }

/// The objects, and what follows from them alone.
struct Cluster {
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, RW::Reserved> reservations;
  std::map<std::string, Pod> bound;

  static std::string given_to(const api::Pod& pod) {
    auto said = api::read_annotation<api::ReservationAllocated>(pod.metadata.annotations);
    return said && *said ? (*said)->uid : std::string();
  }
  bool holds(const api::Pod& pod, const Facts& r) const {
    return pod.spec.node_name == r.node && given_to(pod) == r.uid;
  }
  Two taken(const Facts& r) const {
    Two sum;
    for (const auto& [name, pod] : bound)
      if (holds(*pod, r)) sum += asked_by(*pod);
    return sum;
  }
  bool used_up(const Facts& r) const {
    return r.once && std::ranges::any_of(bound, [&](const auto& each) { return holds(*each.second, r); });
  }
  Two left(const Facts& r) const { return of(r.allocatable) - least(taken(r), of(r.allocatable)); }
  Two used(const std::string& node) const {
    Two sum;
    for (const auto& [name, pod] : bound)
      if (pod->spec.node_name == node) sum += asked_by(*pod);
    for (const auto& [name, object] : reservations)
      if (const Facts r(*object); r.available && r.node == node) sum += left(r);
    return sum;
  }

  bool may_go(const api::Pod& pod, const std::string& node, bool affinity) const {
    const Two wanted = asked_by(pod), there = of(nodes.at(node)->status.allocatable);
    std::vector<Facts> mine;
    for (const auto& [name, object] : reservations) {
      Facts r(*object);
      if (r.available && r.node == node && !r.closed && !used_up(r) && r.owners.matches(pod))
        mine.push_back(std::move(r));
    }
    if (affinity && mine.empty()) return false;
    // What all the others leave.
    Two out = there - used(node);
    for (const Facts& r : mine) out += left(r);
    if (!wanted.within(out)) return false;
    for (const Facts& r : mine) {
      Two through = there - used(node);
      through += left(r);
      const bool enough =
          r.policy != reservation::Policy::restricted || wanted.within(of(r.allocatable) - taken(r));
      if (enough && wanted.within(through)) return true;
    }
    return !affinity && wanted.within(there - used(node));
  }
};

TEST_CASE("what owners and others may have is what the objects say, step by step") {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  ReservationWorld w;
  Cluster cluster;
  for (int n = 0; n < 4; ++n) {
    const std::string name = fmt::format("n{}", n);
    cluster.nodes[name] = make_node(name, "8", "16Gi");
    w.engine.put_node(cluster.nodes[name]);
  }
  std::vector<Decision> flying;
  std::size_t went = 0, refused = 0, given = 0;
  const auto bind = [&](const Decision& d) {
    const Pod pod = RW::bound(d);
    if (const std::string uid = Cluster::given_to(*pod); !uid.empty()) {
      // Nobody is given what is not for him, is elsewhere, is used up, or is not enough.
      const auto of_it = std::ranges::find_if(
          cluster.reservations, [&](const auto& each) { return each.second->metadata.uid == uid; });
      REQUIRE(of_it != cluster.reservations.end());
      const Facts r(*of_it->second);
      REQUIRE((r.available && !r.closed && r.node == pod->spec.node_name && r.owners.matches(*pod)));
      REQUIRE_FALSE(cluster.used_up(r));
      if (r.policy == reservation::Policy::restricted)
        REQUIRE(asked_by(*pod).within(of(r.allocatable) - cluster.taken(r)));
    }
    cluster.bound[pod->metadata.name] = pod;
    w.engine.put_pod(pod);
    given += !Cluster::given_to(*pod).empty();
  };
  for (int step = 0; step < 300; ++step) {
    const std::string node = fmt::format("n{}", below(4)), app = fmt::format("a{}", below(4));
    const auto victim = [&](auto& map) {
      auto it = map.begin();
      std::advance(it, below(static_cast<int>(map.size())));
      return it;
    };
    switch (below(7)) {
      case 0: {
        const std::string name = fmt::format("r{}", step);
        const char* const policy =
            std::array{"", "Aligned", "Restricted"}[static_cast<std::size_t>(below(3))];
        cluster.reservations[name] =
            w.put_on(make_reservation(name, std::to_string(1 + below(4)),
                                      [&](api::Reservation& r) {
                                        r.spec.allocate_policy = policy;
                                        r.spec.allocate_once = below(3) == 0;
                                        r.spec.owners[0].label_selector->match_labels["app"] = Symbol(app);
                                      }),
                     node);
        break;
      }
      case 1:
        if (cluster.reservations.empty()) break;
        if (const auto it = victim(cluster.reservations); below(3) == 0) {
          w.engine.remove_object(it->second);
          cluster.reservations.erase(it);
        } else {
          it->second = changed(it->second, [&](api::Reservation& r) {
            if (below(2) == 0) r.spec.unschedulable = !r.spec.unschedulable;
            if (below(4) == 0) r.status.phase = "Failed";
            if (below(3) == 0) r.status.allocatable["cpu"] = api::Quantity::from_int(1 + below(4));
          });
          w.engine.put_object(it->second);
        }
        break;
      case 2:
      case 3: {
        // Only of pods whose reservation may change meanwhile the outcome is not known.
        const auto pod =
            make_pod(fmt::format("p{}", step), std::to_string(1 + below(3)), "1Gi", RW::owner_of(app));
        w.engine.put_pod(pod);
        for (const Decision& d : w.run()) {
          if (d.kind() != Decision::Kind::bind) {
            w.engine.remove_pod(*d.pod);
          } else if (below(4) == 0) {
            w.engine.binding_failed(*d.pod);
            w.engine.remove_pod(*d.pod);
          } else {
            bind(d);
          }
        }
        break;
      }
      case 4:
        if (cluster.bound.empty()) break;
        if (const auto it = victim(cluster.bound); true) {
          w.engine.remove_pod(*it->second);
          cluster.bound.erase(it);
        }
        break;
      case 5: {
        // Somebody else's, which may say what it likes.
        const std::string uid = cluster.reservations.empty() || below(3) == 0
                                    ? std::string("nobody")
                                    : victim(cluster.reservations)->second->metadata.uid;
        const std::string name = fmt::format("q{}", step);
        cluster.bound[name] = w.put_owner(name, "1", node, uid);
        break;
      }
      case 6:
        w.engine.put_node(cluster.nodes[node] = make_node(node, std::to_string(6 + below(6)), "16Gi"));
        break;
    }
    INFO("step " << step);
    for (const auto& [name, object] : cluster.nodes) {
      const Two expected = cluster.used(name);
      REQUIRE(w.used(kCpu, name) == expected.cpu);
      REQUIRE(w.used(kMemory, name) == expected.memory);
    }
    const bool affinity = below(3) == 0;
    const auto probe =
        make_pod("probe", std::to_string(1 + below(8)), below(3) == 0 ? "2Gi" : "256Mi",
                 RW::owner_of(app, affinity ? RW::wanting("{}") : std::map<std::string, std::string>()));
    for (const auto& [name, object] : cluster.nodes) {
      const std::string why = w.why_not(probe, name);
      const bool may = cluster.may_go(*probe, name, affinity);
      INFO(name << ": " << why);
      REQUIRE(why.empty() == may);
      ++(may ? went : refused);
    }
  }
  CHECK(went > 100);
  CHECK(refused > 200);
  CHECK(given > 10);
}

}  // namespace
}  // namespace koord::scheduling::test
