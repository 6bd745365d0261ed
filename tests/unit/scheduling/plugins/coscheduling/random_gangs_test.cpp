// Random gangs, nodes, failed bindings, deletions and restarts: what holds is judged by the objects alone.
#include <catch2/catch.hpp>
#include <optional>
#include <random>

#include "gang_rig.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

/// The cluster as the API server has it, beside an engine that comes and goes.
struct Cluster {
  explicit Cluster(unsigned seed) : random(seed) { restart(); }

  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); }

  void restart() {
    in_flight.clear();
    world.emplace();
    for (const auto& [name, node] : nodes) world->engine.put_node(node);
    for (const auto& [name, pod] : pods) world->engine.put_pod(pod);
    world->synced();
  }
  void put(const std::shared_ptr<const api::Pod>& pod) {
    pods[pod->metadata.name] = pod;
    world->engine.put_pod(pod);
  }
  static std::string gang_of(const api::Pod& pod) {
    return pod.metadata.annotations.contains(api::kGangName)
               ? pod.metadata.annotations.find(api::kGangName)->str()
               : std::string();
  }
  static int min_of(const api::Pod& pod) {
    return std::stoi(pod.metadata.annotations.find(api::kGangMin)->str());
  }

  bool is_there(const api::Pod& pod) const { return pods.contains(pod.metadata.name); }

  /// Writes the bindings that are on their way, but for some that fail.
  void write() {
    for (const Decision& d : std::exchange(in_flight, {})) {
      const auto it = pods.find(d.pod->metadata.name);
      if (!is_there(*d.pod) || draw(12) == 0) {
        world->engine.binding_failed(*d.pod);
        continue;
      }
      world->engine.binding_succeeded(*d.pod);
      if (!gang_of(*d.pod).empty()) ++ever_bound[gang_of(*d.pod)];
      put(changed(it->second, [&](api::Pod& p) { p.spec.node_name = d.node(); }));
    }
  }

  /// A gang of which nobody was bound yet is decided with as many as it needs.
  void decide() {
    std::map<std::string, int> on_their_way;
    for (const Decision& d : in_flight) ++on_their_way[gang_of(*d.pod)];
    const std::vector<Decision> decisions = world->run();
    std::map<std::string, std::pair<int, int>> placed;  // and min
    for (const Decision& d : decisions) {
      if (d.kind() != Kind::bind) continue;
      in_flight.push_back(d);
      if (const std::string gang = gang_of(*d.pod); !gang.empty())
        placed[gang] = {placed[gang].first + 1, min_of(*d.pod)};
    }
    for (const auto& [gang, numbers] : placed) {
      INFO(gang);
      if (ever_bound[gang] == 0) CHECK(numbers.first + on_their_way[gang] >= numbers.second);
    }
    // Those that were deleted meanwhile take nothing any more.
    CHECK(world->engine.assumed() == static_cast<std::size_t>(std::ranges::count_if(
                                         in_flight, [this](const Decision& d) { return is_there(*d.pod); })));
    CHECK(world->engine.waiting() == 0);
    CHECK(world->engine.nominator().size() == 0);
  }

  void step() {
    switch (draw(10)) {
      case 0:
      case 1: {
        const int min = 1 + draw(6), extra = draw(3);
        const std::string gang = fmt::format("g{}", ++gangs);
        const std::string cpu = std::to_string(1 + draw(3));
        for (int n = 0; n < min + extra; ++n) put(member(gang, n, min, {}, cpu));
        break;
      }
      case 2: put(make_pod(fmt::format("plain-{}", ++plain), "1")); break;
      case 3:
        if (nodes.size() < 6) {
          const std::string name = fmt::format("n{}", nodes.size());
          nodes[name] = make_node(name, "8", "64Gi");
          world->engine.put_node(nodes[name]);
        }
        break;
      case 4:
      case 5:
        if (!pods.empty()) {
          const auto it = std::next(pods.begin(), draw(static_cast<int>(pods.size())));
          const std::shared_ptr<const api::Pod> gone = it->second;
          pods.erase(it);
          world->engine.remove_pod(*gone);
          forget_empty(gang_of(*gone));
        }
        break;
      case 6:
        if (draw(4) == 0) restart();
        break;
      case 7: write(); break;
      default: world->clock.advance(11s);
    }
    decide();
  }
  /// A gang that nobody is of any more is another one when it comes again.
  void forget_empty(const std::string& gang) {
    for (const auto& [name, pod] : pods)
      if (gang_of(*pod) == gang) return;
    ever_bound.erase(gang);
  }

  /// When all has settled no gang waits that fits, and none is there in part.
  void end() {
    for (int n = 0; n < 6; ++n) {
      write();
      world->clock.advance(11s);
      decide();
    }
    while (!in_flight.empty()) {
      write();
      world->clock.advance(11s);
      decide();
    }
    CHECK(world->engine.assumed() == 0);
    // A strict gang of which nobody was ever bound has nobody bound now, nor anything that it would fit into.
    std::map<std::string, std::int64_t> free;
    for (const auto& [name, node] : nodes) free[name] = 8;
    std::map<std::string, std::vector<std::shared_ptr<const api::Pod>>> waiting;
    for (const auto& [name, pod] : pods) {
      const std::int64_t cpu = pod->spec.containers[0].resources.requests.find("cpu")->value();
      if (!pod->spec.node_name.empty())
        free[pod->spec.node_name.str()] -= cpu;
      else
        waiting[gang_of(*pod)].push_back(pod);
    }
    for (const auto& [name, left] : free) CHECK(left >= 0);
    for (const auto& [gang, members] : waiting) {
      INFO("gang " << gang);
      if (gang.empty() || ever_bound[gang] > 0) continue;
      const std::int64_t cpu = members[0]->spec.containers[0].resources.requests.find("cpu")->value();
      std::int64_t fit = 0;
      for (const auto& [name, left] : free) fit += left / cpu;
      const int min = min_of(*members[0]);
      CHECK((static_cast<int>(members.size()) < min || fit < min));
    }
  }

  std::mt19937 random;
  std::optional<Gangs> world;
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, std::shared_ptr<const api::Pod>> pods;
  std::vector<Decision> in_flight;
  std::map<std::string, int> ever_bound;
  int gangs = 0, plain = 0;
};

TEST_CASE("random gangs: none is bound in part, and nothing is left of what failed") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    Cluster cluster(seed);
    for (int n = 0; n < 120; ++n) cluster.step();
    cluster.end();
  }
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
