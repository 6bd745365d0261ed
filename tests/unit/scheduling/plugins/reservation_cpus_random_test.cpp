// Random LSR reservations, their owners and strangers, with restarts of the engine: from the objects alone,
// no CPU is anybody's twice.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "koord/host/cpuset.hpp"
#include "reservation_cpus_rig.hpp"

namespace koord::scheduling::test {
namespace {

using host::CpuSet;
using RC = ReservedCpus;
using Pod = std::shared_ptr<const api::Pod>;

CpuSet cpus(const api::SymbolMap& annotations) {
  auto set = CpuSet::parse(RC::cpus_of(annotations));
  REQUIRE(set.has_value());
  return *set;
}

/// What the API server has.
struct Cluster {
  std::map<std::string, Pod> pods;
  std::map<std::string, Reserved> reservations;

  static std::string in(const api::Pod& pod) {
    auto said = api::read_annotation<api::ReservationAllocated>(pod.metadata.annotations);
    return said && *said ? (*said)->uid : std::string();
  }
  void check() const {
    std::map<std::string, CpuSet> of_pods, of_reservations;
    for (const auto& [name, pod] : pods) {
      if (pod->spec.node_name.empty()) continue;
      CAPTURE(name);
      CpuSet& taken = of_pods[pod->spec.node_name.str()];
      const CpuSet mine = cpus(pod->metadata.annotations);
      REQUIRE((mine & taken).empty());
      taken = taken | mine;
    }
    for (const auto& [name, r] : reservations) {
      if (r->status.phase != "Available") continue;
      CAPTURE(name);
      CpuSet& taken = of_reservations[r->status.node_name.str()];
      const CpuSet mine = cpus(r->metadata.annotations);
      REQUIRE((mine & taken).empty());
      taken = taken | mine;
      for (const auto& [pod_name, pod] : pods) {
        if (pod->spec.node_name != r->status.node_name) continue;
        CAPTURE(pod_name);
        const CpuSet theirs = cpus(pod->metadata.annotations);
        const bool lodges = in(*pod) == r->metadata.uid;
        // Who ignores reservations may be there before a reservation's own.
        if (!lodges && !api::ignores_reservations(pod->metadata)) REQUIRE((theirs & mine).empty());
        if (lodges && r->spec.allocate_policy == "Restricted") REQUIRE((theirs - mine).empty());
      }
    }
  }
};

TEST_CASE("no CPU is given twice, whatever reservations, owners, strangers and restarts there are") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const NumaMachine machine{.cpus = {2, 1, 8, 2}, .memory = "64Gi"};
  const char* const policies[] = {"", "Restricted", "Aligned"};
  const Marks kinds[] = {{},
                         {},
                         {numa_spec("SingleNUMANode", "Preferred")},
                         {resource_spec(R"({"requiredCPUBindPolicy":"FullPCPUs"})")},
                         {resource_spec(R"({"preferredCPUBindPolicy":"SpreadByPCPUs"})")}};
  Cluster cluster;
  std::optional<RC> w;
  const auto start = [&] {
    w.emplace();
    std::vector<std::function<void()>> all;
    for (const char* node : {"a", "b"}) {
      all.emplace_back([&, node] { w->engine.put_node(machine.node(node)); });
      all.emplace_back(
          [&, node] { w->engine.put_object<api::NodeResourceTopology>(machine.topology(node)); });
    }
    for (const auto& [name, pod] : cluster.pods) all.emplace_back([&, pod = pod] { w->engine.put_pod(pod); });
    for (const auto& [name, r] : cluster.reservations)
      all.emplace_back([&, r = r] { w->engine.put_object(r); });
    std::ranges::shuffle(all, random);
    for (const auto& each : all) each();
  };
  start();
  int of_reservations = 0, beside = 0, restarts = 0, reserved = 0;
  const auto forget = [&](auto& map, auto&& gone) {
    if (map.empty()) return;
    auto it = map.begin();
    std::advance(it, below(static_cast<int>(map.size())));
    gone(it->second);
    map.erase(it);
  };
  for (int step = 0; step < 400; ++step) {
    CAPTURE(step);
    const std::string cpu = std::to_string(2 * (1 + below(4)));
    const std::string app = fmt::format("r{}", below(6));
    switch (below(10)) {
      case 0:
      case 1:
        if (!cluster.reservations.contains(app)) {
          const auto r = RC::reservation(app, cpu, policies[1 + below(2)], kinds[below(5)], [&](auto& o) {
            o.metadata.uid = fmt::format("{}-{}", app, step);
            o.spec.allocate_once = below(4) == 0;
          });
          cluster.reservations[app] = r;
          w->engine.put_object(r);
        }
        break;
      case 2:
      case 3:
      case 4:
      case 5: {
        const std::string name = fmt::format("p{}", step);
        Pod pod = RC::owner(name, cpu, below(3) == 0 ? "none" : app, kinds[below(5)], below(3) == 0);
        if (below(8) == 0)
          pod = changed(pod, [](api::Pod& p) { p.metadata.labels[api::kReservationIgnoredLabel] = "true"; });
        cluster.pods[name] = pod;
        w->engine.put_pod(pod);
        break;
      }
      case 6:
      case 7: forget(cluster.pods, [&](const Pod& pod) { w->engine.remove_pod(*pod); }); break;
      case 8:
        forget(cluster.reservations, [&](const Reserved& r) {
          if (below(2) == 0)
            w->engine.put_object(
                changed(r, [&](api::Reservation& o) { reservation::set_expired(o, w->clock.now()); }));
          w->engine.remove_object(r);
        });
        break;
      default: ++restarts; start();
    }
    w->clock.advance(std::chrono::seconds(15));
    // Some of what was decided is never written, and everything is told anew.
    for (const Decision& d : w->run()) {
      if (d.kind() != Decision::Kind::bind) continue;
      if (below(12) == 0) {
        w->engine.binding_failed(*d.pod);
        continue;
      }
      const std::string_view name = d.pod->metadata.name;
      if (const auto it = cluster.pods.find(std::string(name)); it != cluster.pods.end()) {
        it->second = RC::bound(d);
        (Cluster::in(*it->second).empty() ? beside : of_reservations) += 1;
        if (below(3) != 0) w->engine.put_pod(it->second);
      } else {
        const auto of = std::ranges::find_if(cluster.reservations, [&](const auto& each) {
          return each.second->metadata.uid == d.pod->metadata.uid;
        });
        REQUIRE(of != cluster.reservations.end());
        of->second = w->available(of->second, d);
        w->engine.put_object(of->second);
        ++reserved;
      }
      cluster.check();
    }
  }
  CHECK(of_reservations > 5);
  CHECK(beside > 20);
  CHECK(reserved > 15);
  CHECK(restarts > 10);
}

}  // namespace
}  // namespace koord::scheduling::test
