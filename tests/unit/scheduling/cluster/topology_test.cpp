// Topology: domains follow the nodes' labels, and their numbers are used again.
#include "koord/scheduling/cluster/topology.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "koord/scheduling/classes/random.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using Labels = std::map<std::string, std::string>;

/// Nodes, and the topology that is told of them.
struct Cluster {
  void put(const std::string& name, const Labels& labels) {
    const Row row = nodes.row_of(Symbol(name));
    const auto before = nodes.node(row);
    const auto now = make_node(name, "4", "8Gi", [&](api::Node& n) {
      n.metadata.labels.clear();
      for (const auto& [key, value] : labels) n.metadata.labels[key] = value;
    });
    nodes.set_node(row, now);
    topology.node_changed(row, before.get(), now.get());
  }
  void remove(const std::string& name) {
    const Row row = nodes.find(name);
    const auto before = nodes.node(row);
    nodes.set_node(row, nullptr);
    topology.node_changed(row, before.get(), nullptr);
  }
  std::string at(const TopologyKey& key, const std::string& node) const {
    const DomainId domain = key.domain(nodes.find(node));
    return domain == kNoDomain ? "-" : key.value(domain).str();
  }

  NodeTable nodes;
  TopologyTable topology{nodes};
};

TEST_CASE("a key's domains follow the nodes' labels") {
  Cluster cluster;
  cluster.put("a", {{"zone", "1"}});
  const TopologyRef zone = cluster.topology.key("zone");
  cluster.put("b", {{"zone", "2"}});
  cluster.put("c", {{"zone", "1"}});
  cluster.put("d", {{"rack", "1"}});
  CHECK(zone->domains() == 2);
  CHECK(zone->nodes() == 3);
  CHECK(zone->domain(0) == zone->domain(2));
  CHECK(zone->nodes(zone->find("1")) == 2);
  CHECK(cluster.at(*zone, "d") == "-");

  cluster.put("b", {{"zone", ""}});
  CHECK(zone->find("2") == kNoDomain);
  CHECK(zone->domains() == 2);
  CHECK(zone->nodes(zone->find("")) == 1);
  CHECK(zone->id_limit() == 3);
  cluster.put("d", {{"zone", "4"}});
  CHECK(zone->id_limit() == 3);  // the number of "2"

  cluster.remove("a");
  cluster.put("c", {});
  CHECK(zone->find("1") == kNoDomain);
  CHECK(zone->nodes() == 2);
  CHECK(zone->column()[0] == kNoDomain);
  CHECK(zone->domain(1000) == kNoDomain);
}

TEST_CASE("a key that is read later knows the nodes that there are") {
  Cluster cluster;
  cluster.put("a", {{"zone", "1"}, {"host", "a"}});
  cluster.put("b", {{"host", "b"}});
  CHECK(cluster.topology.key("host")->domains() == 2);
  CHECK(cluster.topology.key("zone")->nodes() == 1);
  const TopologyTable later(cluster.nodes);
  CHECK(cluster.topology.key("zone")->domains() == 1);
}

TEST_CASE("hostnames are read in the rows' order, however nodes come and go") {
  Cluster cluster;
  const TopologyRef host = cluster.topology.key("host");
  const auto put = [&](int i) { cluster.put(fmt::format("n{}", i), {{"host", std::to_string(i)}}); };
  for (int i = 0; i < 200; ++i) put(i);
  CHECK(host->by_row());
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 10; ++i) cluster.remove(fmt::format("n{}", 10 * round + i));
    for (int i = 0; i < 10; ++i) put(200 + 10 * round + i);
  }
  CHECK(host->by_row());
  CHECK(host->domains() == 200);
  CHECK(host->id_limit() == 200);
  cluster.put("odd", {{"host", "399"}});
  CHECK_FALSE(host->by_row());
}

TEST_CASE("what no node has takes no room, and unused keys are forgotten") {
  Cluster cluster;
  for (int i = 0; i < 100; ++i) cluster.put(fmt::format("n{}", i), {{"zone", "1"}});
  const TopologyRef zone = cluster.topology.key("zone");
  std::vector<TopologyRef> held;
  for (int i = 0; i < 1000; ++i) {
    const TopologyRef key = cluster.topology.key(fmt::format("unknown{}", i));
    CHECK(key->column().size() >= 100);
    CHECK(key->column().data() == cluster.topology.key("nothing")->column().data());
    if (i % 10 == 0) held.push_back(key);
  }
  CHECK(cluster.topology.size() < 1 + 100 + 64 + 2);
  cluster.put("n7", {{"unknown990", "x"}, {"unknown991", "y"}});
  CHECK(cluster.at(*held.back(), "n7") == "x");
  CHECK(cluster.at(*cluster.topology.key("unknown991"), "n7") == "y");
}

/// Counts nodes by domain as a plugin does: by what it is told.
struct Counter final : TopologyKey::Observer {
  explicit Counter(TopologyRef k) : key(std::move(k)) {
    for (const DomainId domain : key->column())
      if (domain != kNoDomain) ++nodes[key->value(domain).str()];
    key->observe(*this);
  }
  ~Counter() override { key->forget(*this); }
  void domain_changed(const TopologyKey& of, Row row, DomainId from, DomainId to) override {
    CHECK(of.domain(row) == to);
    if (from != kNoDomain && --nodes[of.value(from).str()] == 0) nodes.erase(of.value(from).str());
    if (to != kNoDomain) ++nodes[of.value(to).str()];
  }
  TopologyRef key;
  std::map<std::string, int> nodes;
};

TEST_CASE("who is told of changes knows what the columns say") {
  Cluster cluster;
  Random random(7);
  std::map<std::string, Labels> there;
  std::optional<Counter> counter;
  for (int step = 0; step < 3000; ++step) {
    const std::string name = fmt::format("n{}", random.below(40));
    if (random.below(4) == 0) {
      if (there.erase(name) != 0) cluster.remove(name);
    } else {
      Labels labels;
      if (random.below(5) != 0) labels["zone"] = std::to_string(random.below(6));
      if (random.below(5) != 0) labels["rack"] = std::to_string(random.below(30));
      cluster.put(name, there[name] = labels);
    }
    if (step % 500 == 250) counter.emplace(cluster.topology.key("rack"));
    if (!counter) continue;
    std::map<std::string, int> racks;
    std::set<DomainId> ids;
    for (const auto& [node, labels] : there) {
      const auto rack = labels.find("rack");
      CHECK(cluster.at(*counter->key, node) == (rack == labels.end() ? "-" : rack->second));
      if (rack == labels.end()) continue;
      ++racks[rack->second];
      ids.insert(counter->key->domain(cluster.nodes.find(node)));
    }
    REQUIRE(counter->nodes == racks);
    CHECK(ids.size() == racks.size());
    CHECK(counter->key->domains() == racks.size());
    CHECK(counter->key->id_limit() <= 40);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
