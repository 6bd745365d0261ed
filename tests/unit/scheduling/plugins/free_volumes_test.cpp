// FreeVolumes through VolumeBinding: of many volumes that come, change and go, each node offers its smallest.
#include <random>
#include <set>

#include "plugins/volume_binding_world.hpp"

namespace koord::scheduling::test {
namespace {

struct Disk {
  int size = 0;  // GiB
  std::set<std::string> nodes;
  bool block = false, claimed = false;
  std::shared_ptr<const Volume> object;
};

Edit<Volume> not_at(const char* node) {
  return [=](Volume& v) {
    auto& term = v.spec.node_affinity.ensure().required.ensure().node_selector_terms.emplace_back();
    auto& r = term.match_expressions.emplace_back();
    r.key = "kubernetes.io/hostname";
    r.operator_ = "NotIn";
    r.values.push_back(node);
  };
}

struct Site {
  std::set<std::string> nodes;
  Edit<Volume> condition;
};
const Site kSites[] = {
    {{"a", "b", "c", "d"}, {}},
    {{"a"}, at("a")},
    {{"b"}, at("b")},
    {{"a", "b"}, on({{"kubernetes.io/hostname", {"a", "b"}}})},
    {{"c"}, on({{"kubernetes.io/hostname", {"c", "c", "gone"}}})},
    {{"d"}, at("d")},
    {{"b", "c", "d"}, not_at("a")},
    {{"a", "b", "c", "d"}, on({{"kubernetes.io/hostname", {"a"}}}, not_at("z"))},  // two alternatives
};

/// What the smallest disk on each node that will do makes of the score.
std::map<std::string, std::int64_t> expected(const std::map<std::string, Disk>& disks,
                                             const std::set<std::string>& nodes, int size) {
  std::map<std::string, int> least;
  for (const auto& [name, disk] : disks) {
    if (disk.claimed || disk.block || disk.size < size) continue;
    for (const std::string& node : disk.nodes)
      if (nodes.contains(node)) {
        int& size_there = least.try_emplace(node, disk.size).first->second;
        size_there = std::min(size_there, disk.size);
      }
  }
  std::map<std::string, std::int64_t> scores;
  for (const auto& [node, capacity] : least) scores[node] = size * 100 / capacity;
  return scores;
}

TEST_CASE("a node offers the smallest of its volumes that suits, whatever volumes and nodes came and went") {
  for (const std::size_t most : {5UL, 60UL}) {  // lists that are gone through on each row, and longer ones
    std::mt19937 random(static_cast<std::mt19937::result_type>(most));
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    Scene scene(with_shape(kFuller), scoring_gate());
    std::map<std::string, Disk> disks;
    std::set<std::string> nodes = {"a", "b", "c"};
    int met = 0;
    for (int step = 0; step < 400; ++step) {
      const std::string name = fmt::format("v{}", pick(static_cast<int>(most)));
      INFO("most " << most << ", step " << step << ", " << name);
      if (const auto there = disks.find(name); there != disks.end() && pick(4) == 0) {
        scene.world.engine.remove_object(there->second.object);
        disks.erase(there);
      } else {
        const Site& site = kSites[static_cast<std::size_t>(pick(std::size(kSites)))];
        Disk disk{1 + pick(40), site.nodes, pick(5) == 0, pick(5) == 0, nullptr};
        disk.object = volume(name, "wait", fmt::format("{}Gi", disk.size).c_str(), [&](Volume& v) {
          if (site.condition) site.condition(v);
          if (disk.block) v.spec.volume_mode = "Block";
          if (disk.claimed) for_claim("somebody's", "uid")(v);
        });
        scene.put(disk.object);
        disks[name] = disk;
      }
      if (pick(8) == 0) {  // rows and the numbers of hostnames are used again
        const std::string node(1, static_cast<char>('a' + pick(4)));
        if (nodes.erase(node) == 0) {
          scene.world.engine.put_node(make_node(node));
          nodes.insert(node);
        } else {
          scene.world.engine.remove_node(Symbol(node));
        }
      }
      const int size = 1 + pick(40);
      const std::string claim = fmt::format("p{}", step);
      scene.put(asking(claim, "wait", fmt::format("{}Gi", size).c_str()));
      const auto scores = scene.scores(make_pod("pod", "", "", claims({claim})));
      CHECK(scores == expected(disks, nodes, size));
      met += scores.empty() ? 0 : 1;
    }
    CHECK(met > 100);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
