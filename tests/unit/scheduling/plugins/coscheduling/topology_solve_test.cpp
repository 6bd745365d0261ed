// How a gang is distributed over the domains of a network; rows of Koordinator's
// network_topology_solver_test.go, and random trees beside a slow reference.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <tuple>

#include "scheduling/plugins/coscheduling/topology/counters.hpp"
#include "scheduling/plugins/coscheduling/topology/solve.hpp"
#include "topology_rig.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace topology;
using Path = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

/// By name; the names are unique here.
Tree::Id id_of(const Tree& tree, std::string_view name) {
  for (Tree::Id id = 0; id < tree.size(); ++id)
    if (tree[id].nodes != 0 && tree[id].name == name) return id;
  FAIL("no domain " << name);
  return Tree::kNone;
}

TEST_CASE("which of two domains comes first") {
  // The cluster offers 7: s1 3 (b1 2, b2 2), s2 4 (b3 2, b4 3).
  Tree tree;
  for (const auto& path : {Path{"s1", "b1"}, {"s1", "b2"}, {"s2", "b3"}, {"s2", "b4"}}) tree.put(path);
  struct Row {
    const char *name, *a, *b;
    bool fewer_first, expected;
  };
  const Row kRows[] = {
      {"fewer places first", "b1", "b4", true, true},
      {"fewer places first, the other way round", "b4", "b1", true, false},
      {"more places first", "b1", "b4", false, false},
      {"more places first, the other way round", "b4", "b1", false, true},
      {"the same, then their parents", "b1", "b3", true, true},
      {"the same, then their parents, more first", "b1", "b3", false, false},
      {"the same, of one parent: the name", "b1", "b2", true, true},
  };
  Numbers offers(tree.size()), scores(tree.size(), 0);
  const std::map<std::string, std::int64_t> of{{"", 7},   {"s1", 3}, {"s2", 4}, {"b1", 2},
                                               {"b2", 2}, {"b3", 2}, {"b4", 3}};
  for (const auto& [name, places] : of) offers[id_of(tree, name)] = places;
  for (const Row& row : kRows) {
    INFO(row.name);
    CHECK(comes_before(tree, {offers, {}, scores}, id_of(tree, row.a), id_of(tree, row.b), row.fewer_first) ==
          row.expected);
  }
  scores[id_of(tree, "b2")] = 1;
  CHECK(comes_before(tree, {offers, {}, scores}, id_of(tree, "b2"), id_of(tree, "b1"), true));
  CHECK_FALSE(comes_before(tree, {offers, {}, scores}, id_of(tree, "b1"), id_of(tree, "b2"), true));
  Numbers existing(tree.size(), 0);
  existing[id_of(tree, "s2")] = existing[id_of(tree, "b4")] = 1;
  CHECK(comes_before(tree, {offers, existing, scores}, id_of(tree, "b4"), id_of(tree, "b1"), true));
  CHECK(comes_before(tree, {offers, existing, scores}, id_of(tree, "b3"), id_of(tree, "b2"), true));
}

/// s1: b1 (n1 5, n2 7), b2 (n3 6, n4 4).
struct Four {
  explicit Four(Numbers multiples = {}) {
    for (const auto& path :
         {Path{"s1", "b1", "n1"}, {"s1", "b1", "n2"}, {"s1", "b2", "n3"}, {"s1", "b2", "n4"}})
      tree.put(path);
    counters.begin(tree, std::move(multiples));
    for (const auto& [node, room] : std::map<std::string, int>{{"n1", 5}, {"n2", 7}, {"n3", 6}, {"n4", 4}})
      counters.set(id_of(tree, node), room);
  }
  std::int64_t offer(std::string_view name) const { return counters.offers()[id_of(tree, name)]; }

  Tree tree;
  Counters counters;
};

TEST_CASE("domains offer multiples") {
  struct Row {
    const char* name;
    Numbers multiples;  // of the cluster, spines, blocks and nodes
    std::map<std::string, int> expected;
  };
  const Row kRows[] = {
      {"none", {}, {{"s1", 22}, {"b1", 12}, {"b2", 10}, {"n1", 5}, {"n2", 7}, {"n3", 6}, {"n4", 4}}},
      {"of nodes",
       {0, 0, 0, 4},
       {{"n1", 4}, {"n2", 4}, {"n3", 4}, {"n4", 4}, {"b1", 8}, {"b2", 8}, {"s1", 16}}},
      {"of blocks",
       {0, 0, 8},
       {{"n1", 5}, {"n2", 7}, {"n3", 6}, {"n4", 4}, {"b1", 8}, {"b2", 8}, {"s1", 16}}},
      {"of both",
       {0, 0, 8, 2},
       {{"n1", 4}, {"n2", 6}, {"n3", 6}, {"n4", 4}, {"b1", 8}, {"b2", 8}, {"s1", 16}}},
      {"one is no limit", {1, 1, 1, 1}, {{"s1", 22}, {"b1", 12}}},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    Four four(row.multiples);
    for (const auto& [name, expected] : row.expected) {
      INFO(name);
      CHECK(four.offer(name) == expected);
    }
    // What is taken back is as it was.
    four.counters.set(id_of(four.tree, "n1"), 0);
    four.counters.set(id_of(four.tree, "n1"), 5);
    for (const auto& [name, expected] : row.expected) CHECK(four.offer(name) == expected);
  }
}

TEST_CASE("a gang is distributed over a domain") {
  struct Row {
    const char* name;
    Numbers multiples;
    int pods;
    std::vector<std::pair<std::string, int>> expected;  // in this order; none: it does not fit
  };
  const Row kRows[] = {
      {"without multiples, in the largest first", {}, 15, {{"n2", 7}, {"n1", 5}, {"n3", 3}}},
      {"all of it", {}, 22, {{"n2", 7}, {"n1", 5}, {"n3", 6}, {"n4", 4}}},
      {"more than there is", {}, 23, {}},
      {"of nodes", {0, 0, 0, 4}, 16, {{"n1", 4}, {"n2", 4}, {"n3", 4}, {"n4", 4}}},
      {"of nodes, not enough", {0, 0, 0, 4}, 20, {}},
      {"of blocks", {0, 0, 8}, 16, {{"n2", 7}, {"n1", 1}, {"n3", 6}, {"n4", 2}}},
      {"of both", {0, 0, 8, 2}, 16, {{"n2", 6}, {"n1", 2}, {"n3", 6}, {"n4", 2}}},
      {"no multiple itself", {0, 0, 0, 4}, 6, {}},
      {"the smallest block that has room", {}, 10, {{"n3", 6}, {"n4", 4}}},
      {"the smallest node that has room", {}, 4, {{"n4", 4}}},
      {"nobody", {}, 0, {}},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    const Four four(row.multiples);
    const auto plan = solve(four.tree, {row.pods, 0, row.multiples}, {four.counters.offers(), {}, {}});
    CHECK(plan.has_value() == (!row.expected.empty() || row.pods == 0));
    std::vector<std::pair<std::string, int>> named;
    for (const auto& [leaf, pods] : plan.value_or(Plan()))
      named.emplace_back(four.tree[leaf].name, static_cast<int>(pods));
    CHECK(named == row.expected);
  }
}

TEST_CASE("what a gang wishes is read by the layers that there are") {
  const auto layers = read_layers(spines_and_blocks()->spec);
  REQUIRE(layers.has_value());
  const auto rule = [](std::string_view layer, std::string_view strategy, std::optional<int> multiple = {}) {
    return api::NetworkTopologyGatherRule{Symbol(layer), Symbol(strategy), multiple};
  };
  struct Row {
    const char* name;
    std::vector<api::NetworkTopologyGatherRule> rules;
    std::size_t gather;
    Numbers multiples;
    const char* unknown = "";
    bool impossible = false;
    const char* strategies = "";
  };
  const Row kRows[] = {
      {"nothing", {}, 0, {0, 0, 0, 0}},
      {"preferred alone",
       {rule("BlockLayer", "PreferGather"), rule("SpineLayer", "PreferGather")},
       0,
       {0, 0, 0, 0}},
      {"the lowest of two",
       {rule("SpineLayer", "MustGather"), rule("BlockLayer", "MustGather")},
       2,
       {0, 0, 0, 0}},
      {"in any order", {rule("BlockLayer", "MustGather"), rule("SpineLayer", "MustGather")}, 2, {0, 0, 0, 0}},
      {"must below prefers",
       {rule("BlockLayer", "PreferGather"), rule("SpineLayer", "MustGather")},
       1,
       {0, 0, 0, 0}},
      {"the cluster", {rule("ClusterTopologyLayer", "MustGather")}, 0, {0, 0, 0, 0}},
      {"one and nothing are no multiples",
       {rule("SpineLayer", "MustGather", 1), rule("BlockLayer", "PreferGather", 0)},
       1,
       {0, 0, 0, 0}},
      {"nor is less than nothing", {rule("SpineLayer", "MustGather", -4)}, 1, {0, 0, 0, 0}},
      {"multiples of several",
       {rule("SpineLayer", "MustGather", 16), rule("BlockLayer", "PreferGather", 8),
        rule("NodeTopologyLayer", "PreferGather", 4)},
       1,
       {0, 16, 8, 4}},
      {"a layer that there is not", {rule("Rack", "MustGather")}, 0, {0, 0, 0, 0}, "Rack", true},
      {"beside one that there is",
       {rule("Rack", "MustGather"), rule("SpineLayer", "MustGather")},
       1,
       {0, 0, 0, 0},
       "Rack"},
      {"preferred", {rule("Rack", "PreferGather", 8)}, 0, {0, 0, 0, 0}, "Rack"},
      {"a strategy that there is not", {rule("SpineLayer", "Gather")}, 0, {0, 0, 0, 0}, "", false, "Gather"},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    const Wishes wishes = read_wishes({row.rules}, *layers);
    CHECK(wishes.ask.gather == row.gather);
    CHECK(wishes.ask.multiples == row.multiples);
    CHECK(fmt::format("{}", fmt::join(wishes.unknown, ",")) == row.unknown);
    CHECK(wishes.impossible == row.impossible);
    CHECK(fmt::format("{}", fmt::join(wishes.strategies, ",")) == row.strategies);
  }
}

/// The same by definition, from the names alone.
struct Slow {
  struct Domain {
    Path path;
    std::map<std::string, Domain> below;
    std::int64_t room = 0, offer = 0, existing = 0;
  };
  using Nodes = std::map<Path, std::pair<std::int64_t, std::int64_t>>;  // their room, and pods that are there

  Slow(const Nodes& nodes, Numbers cut_to, std::int64_t wanted, std::size_t gathered)
      : multiples(std::move(cut_to)), pods(wanted), gather(gathered) {
    for (const auto& [path, has] : nodes) {
      Domain* at = &root;
      at->existing += has.second;
      for (const std::string& name : path) {
        Domain& next = at->below[name];
        next.path = at->path;
        next.path.push_back(name);
        next.existing += has.second;
        at = &next;
      }
      at->room = has.first;
    }
    sum(root);
  }
  std::int64_t cut(std::size_t layer, std::int64_t number) const {
    return multiples[layer] > 1 ? number - number % multiples[layer] : number;
  }
  void sum(Domain& at) {
    std::int64_t all = at.room;
    for (auto& [name, below] : at.below) {
      sum(below);
      all += below.offer;
    }
    at.offer = cut(at.path.size(), all);
  }
  const Domain& find(const Path& path) const {
    const Domain* at = &root;
    for (const std::string& name : path) at = &at->below.at(name);
    return *at;
  }
  /// Sorts before others if it is smaller.
  std::tuple<Numbers, Numbers, std::string> rank(const Domain& domain, bool fewer_first) const {
    Numbers existing, offers;
    for (std::size_t up = domain.path.size() + 1; up-- > 0;) {
      const Domain& at =
          find(Path(domain.path.begin(), domain.path.begin() + static_cast<std::ptrdiff_t>(up)));
      existing.push_back(-at.existing);
      offers.push_back(fewer_first ? at.offer : -at.offer);
    }
    return {existing, offers,
            fmt::format("{}", fmt::join(Path(domain.path.rbegin(), domain.path.rend()), "/"))};
  }
  void collect(const Domain& at, bool open, std::map<std::size_t, std::vector<const Domain*>>& out) const {
    if (at.path.size() >= gather) {
      open = open && at.offer >= pods;
      if (open) out[at.path.size()].push_back(&at);
    }
    for (const auto& [name, below] : at.below) collect(below, open, out);
  }
  std::int64_t fill(const Domain& at, std::int64_t wanted,
                    std::vector<std::pair<Path, std::int64_t>>& out) const {
    const std::int64_t most = cut(at.path.size(), std::min(at.offer, wanted));
    if (at.below.empty()) {
      if (most > 0) out.emplace_back(at.path, most);
      return most;
    }
    std::vector<const Domain*> order;
    for (const auto& [name, below] : at.below) order.push_back(&below);
    std::ranges::sort(order, {}, [&](const Domain* d) { return rank(*d, false); });
    std::int64_t filled = 0;
    for (const Domain* below : order) filled += fill(*below, most - filled, out);
    return filled;
  }
  std::optional<std::vector<std::pair<Path, std::int64_t>>> run() const {
    std::map<std::size_t, std::vector<const Domain*>> open;
    collect(root, true, open);
    if (open.empty()) return std::nullopt;
    std::vector<const Domain*> lowest = open.rbegin()->second;
    std::ranges::stable_sort(lowest, {}, [&](const Domain* d) { return rank(*d, true); });
    for (const Domain* candidate : lowest) {
      std::vector<std::pair<Path, std::int64_t>> plan;
      if (fill(*candidate, pods, plan) >= pods) return plan;
    }
    return std::nullopt;
  }

  Domain root;
  Numbers multiples;
  std::int64_t pods;
  std::size_t gather;
};

TEST_CASE("random trees, rooms and wishes: as the slow reference says, and what is promised holds") {
  std::mt19937 random(7);
  const auto draw = [&](int below) { return std::uniform_int_distribution<int>(0, below - 1)(random); };
  int solved = 0, unsolved = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t depth = static_cast<std::size_t>(1 + draw(4));
    Tree tree;
    Slow::Nodes nodes;
    std::map<Path, Tree::Id> leaves;
    Numbers multiples(depth + 1, 0);
    for (auto& multiple : multiples)
      if (draw(4) == 0) multiple = draw(4);
    Counters counters;
    for (int step = 0; step < 12; ++step) {
      // Nodes come, go and change their room.
      Path path;
      for (std::size_t layer = 1; layer < depth; ++layer)
        path.push_back(std::string(1, static_cast<char>('a' + draw(3))));
      path.push_back(fmt::format("n{}", draw(6)));
      if (leaves.contains(path) && draw(2) == 0) {
        tree.remove(leaves[path]);
        leaves.erase(path);
        nodes.erase(path);
      } else {
        if (!leaves.contains(path)) leaves[path] = tree.put(path);
        nodes[path] = {draw(6), draw(3) == 0 ? draw(3) : 0};
      }
      if (!counters.serve(tree, multiples)) counters.begin(tree, multiples);
      Numbers existing(tree.size(), 0);
      for (const auto& [at, has] : nodes) {
        counters.set(leaves[at], has.first);
        for (Tree::Id id = leaves[at]; id != Tree::kNone; id = tree[id].parent) existing[id] += has.second;
      }
      const Ask ask{1 + draw(10), static_cast<std::size_t>(draw(static_cast<int>(depth) + 1)), multiples};
      const auto plan = solve(tree, ask, {counters.offers(), existing, {}});
      const auto expected = Slow(nodes, multiples, ask.pods, ask.gather).run();
      INFO("round " << round << " step " << step << " pods " << ask.pods << " layer " << ask.gather);
      REQUIRE(plan.has_value() == expected.has_value());
      const bool plain = std::ranges::all_of(multiples, [](auto m) { return m < 2; });
      if (!plan) {
        ++unsolved;
        // Without multiples there is then no domain of the layer with room for all.
        if (plain)
          for (const Tree::Id id : tree.of_layer(ask.gather)) CHECK(counters.offers()[id] < ask.pods);
        continue;
      }
      ++solved;
      std::vector<std::pair<Path, std::int64_t>> named;
      std::int64_t all = 0;
      std::map<Path, std::int64_t> by_domain;
      std::set<Path> gathered;
      for (const auto& [leaf, pods] : *plan) {
        Path at;
        for (Tree::Id id = leaf; id != Tree::kRoot; id = tree[id].parent)
          at.insert(at.begin(), tree[id].name);
        named.emplace_back(at, pods);
        all += pods;
        CHECK(pods > 0);
        CHECK(pods <= nodes[at].first);
        for (std::size_t up = ask.gather; up <= depth; ++up)
          by_domain[Path(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(up))] += pods;
        gathered.insert(Path(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(ask.gather)));
      }
      CHECK(named == *expected);
      CHECK(all == ask.pods);
      CHECK(gathered.size() == 1);
      // Below the domain that has all of them the multiples hold.
      for (const auto& [at, pods] : by_domain)
        if (multiples[at.size()] > 1 && pods < ask.pods) CHECK(pods % multiples[at.size()] == 0);
    }
  }
  CHECK(solved > 500);
  CHECK(unsolved > 500);
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
