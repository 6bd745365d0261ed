// ImageLocality: kube-scheduler's cases, and scores that follow nodes which they are not of.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "koord/scheduling/classes/random.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

KubeSchedulerConfiguration images_alone() {
  KubeSchedulerConfiguration config;
  PluginSet& score = config.profiles.emplace_back().plugins.ensure().score;
  score.disabled.push_back({"*", {}});
  score.enabled.push_back({"ImageLocality", {}});
  return config;
}

/// Images by name, of so many MiB.
using Images = std::vector<std::pair<std::vector<std::string>, int>>;

std::shared_ptr<const api::Node> with_images(const std::string& name, const Images& images) {
  return make_node(name, "4", "8Gi", [&](api::Node& node) {
    for (const auto& [names, size] : images) {
      api::ContainerImage& image = node.status.images.emplace_back();
      image.names.assign(names.begin(), names.end());
      image.size_bytes = size * kMiB;
    }
  });
}

std::shared_ptr<const api::Pod> wants(const std::vector<std::string>& containers,
                                      const std::vector<std::string>& init = {}) {
  return make_pod("p", "", "", [&](api::Pod& pod) {
    pod.spec.containers.clear();
    for (const std::string& image : containers) pod.spec.containers.emplace_back().image = image;
    for (const std::string& image : init) pod.spec.init_containers.emplace_back().image = image;
  });
}

std::vector<std::int32_t> scores(World& world, const std::shared_ptr<const api::Pod>& pod) {
  ClassState& state = world.engine.evaluate(world.engine.profiles()[0], pod);
  std::vector<std::int32_t> all;
  for (Row row = 0; row < world.engine.nodes().rows(); ++row)
    if (world.engine.nodes().node(row)) all.push_back(state.score(row));
  return all;
}

TEST_CASE("nodes are scored by the images that they have") {
  const Images k40_300_2000 = {{{"gcr.io/40:latest", "gcr.io/40:v1", "gcr.io/40:v1"}, 40},
                               {{"gcr.io/300:latest", "gcr.io/300:v1"}, 300},
                               {{"gcr.io/2000:latest"}, 2000}},
               k250_10 = {{{"gcr.io/250:latest"}, 250}, {{"gcr.io/10:latest", "gcr.io/10:v1"}, 10}},
               k600_40_900 = {{{"gcr.io/600:latest"}, 600},
                              {{"gcr.io/40:latest"}, 40},
                              {{"gcr.io/900:latest"}, 900}},
               k300_600_900 = {{{"gcr.io/300:latest"}, 300},
                               {{"gcr.io/600:latest"}, 600},
                               {{"gcr.io/900:latest"}, 900}},
               k4000_30 = {{{"gcr.io/4000:latest"}, 4000}, {{"gcr.io/30:latest"}, 30}},
               k20_30_40 = {{{"gcr.io/20:latest"}, 20},
                            {{"gcr.io/30:latest"}, 30},
                            {{"gcr.io/40:latest"}, 40}},
               kNone = {};
  struct Case {
    const char* name;
    std::vector<std::string> containers, init;
    std::vector<Images> nodes;
    std::vector<std::int32_t> scores;
  };
  // The numbers are kube-scheduler's own.
  const Case kCases[] = {
      {"the larger image", {"gcr.io/40", "gcr.io/250"}, {}, {k40_300_2000, k250_10}, {0, 5}},
      {"both images", {"gcr.io/40", "gcr.io/300"}, {}, {k40_300_2000, k250_10}, {7, 0}},
      {"beyond the most", {"gcr.io/10", "gcr.io/4000"}, {}, {k4000_30, k250_10}, {100, 0}},
      {"and a node without", {"gcr.io/10", "gcr.io/4000"}, {}, {k4000_30, k250_10, kNone}, {66, 0, 0}},
      {"several large images",
       {"gcr.io/300", "gcr.io/600", "gcr.io/900"},
       {},
       {k600_40_900, k300_600_900, kNone},
       {32, 36, 0}},
      {"several small images", {"gcr.io/30", "gcr.io/40"}, {}, {k20_30_40, k4000_30}, {1, 0}},
      {"init containers", {"gcr.io/30"}, {"gcr.io/300"}, {k40_300_2000, k20_30_40}, {6, 0}},
      {"a tag is a tag, a port is none",
       {"host:5000/a", "host:5000/b:v1"},
       {},
       {{{{"host:5000/a:latest"}, 2000}}, {{{"host:5000/b:v1"}, 2000}}, {{{"host:5000/b:latest"}, 2000}}},
       {32, 32, 0}},
      {"no node has it", {"gcr.io/none"}, {}, {k250_10, kNone}, {0, 0}},
  };
  for (const Case& c : kCases) {
    INFO(c.name);
    World world(images_alone());
    for (std::size_t i = 0; i < c.nodes.size(); ++i)
      world.engine.put_node(with_images(fmt::format("node{}", i), c.nodes[i]));
    CHECK(scores(world, wants(c.containers, c.init)) == c.scores);
  }
}

TEST_CASE("an image that comes to more nodes counts more on those that had it") {
  World world(images_alone());
  for (const char* name : {"a", "b", "c", "d"}) world.engine.put_node(with_images(name, {}));
  const auto pod = wants({"i:v"});
  CHECK(scores(world, pod) == std::vector<std::int32_t>{0, 0, 0, 0});
  const Images has = {{{"i:v"}, 1000}};
  world.engine.put_node(with_images("b", has));
  CHECK(scores(world, pod) == std::vector<std::int32_t>{0, 23, 0, 0});
  world.engine.put_node(with_images("d", has));
  CHECK(scores(world, pod) == std::vector<std::int32_t>{0, 48, 0, 48});
  world.engine.remove_node("a");
  CHECK(scores(world, pod) == std::vector<std::int32_t>{65, 0, 65});
  world.engine.put_node(with_images("b", {}));
  world.engine.put_node(with_images("d", {}));
  CHECK(scores(world, pod) == std::vector<std::int32_t>{0, 0, 0});
}

TEST_CASE("a change of images costs those alone that ask for them") {
  World world(images_alone());
  constexpr int kNodes = 100;
  for (int i = 0; i < kNodes; ++i)
    world.engine.put_node(with_images(fmt::format("n{}", i), {{{"i:v"}, 1000}}));
  const auto cost = [&](const Images& images) {
    // What is seen twice is remembered.
    for (int i = 0; i < 2; ++i) scores(world, wants({"i:v"}));
    const std::uint64_t before = world.engine.classes().rows_looked_at();
    world.engine.put_node(with_images("n7", images));
    scores(world, wants({"i:v"}));
    return world.engine.classes().rows_looked_at() - before;
  };
  CHECK(cost({{{"i:v"}, 1000}, {{"other:v"}, 1000}}) < 10);
  CHECK(cost({{{"other:v"}, 1000}}) >= 2 * kNodes);
}

TEST_CASE("what is repaired is what would be made anew, whatever happens to images") {
  Random random(7);
  World world(images_alone());
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  const auto pod = [&](std::uint32_t which) {
    return wants({fmt::format("i{}:v", which % 5), fmt::format("i{}:v", which / 5 % 5)});
  };
  for (int step = 0; step < 400; ++step) {
    const std::string name = fmt::format("n{}", random.below(12));
    if (random.below(6) == 0) {
      world.engine.remove_node(name);
      nodes.erase(name);
    } else {
      Images images;
      for (int i = 0; i < 5; ++i)
        if (random.below(2) == 0) images.push_back({{fmt::format("i{}:v", i)}, 200 * (i + 1)});
      nodes[name] = with_images(name, images);
      world.engine.put_node(nodes[name]);
    }
    const auto asked = pod(random.below(25));
    ClassState& kept = world.engine.evaluate(world.engine.profiles()[0], asked);
    std::map<std::string, std::int32_t> now, anew;
    for (const auto& [n, node] : nodes) now[n] = kept.score(world.engine.nodes().find(n));
    World fresh(images_alone());
    for (const auto& [n, node] : nodes) fresh.engine.put_node(node);
    ClassState& made = fresh.engine.evaluate(fresh.engine.profiles()[0], asked);
    for (const auto& [n, node] : nodes) anew[n] = made.score(fresh.engine.nodes().find(n));
    if (now != anew) FAIL_CHECK(fmt::format("step {}", step));
  }
}

}  // namespace
}  // namespace koord::scheduling::test
