// Gangs that name a network topology, and preempt: in which domain who goes.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "../elastic_quota/quota_world.hpp"
#include "preempting.hpp"
#include "topology_rig.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

KubeSchedulerConfiguration aware(const std::vector<std::string>& post_filters = {"Coscheduling"}) {
  KubeSchedulerConfiguration config = preempting_config(post_filters);
  config.profiles[0].plugin_config.back().args =
      api::RawJson(R"({"enablePreemption":true,"awareNetworkTopology":true})");
  return config;
}

/// Eight nodes of 16 CPUs, see kEight.
struct Domains : Preempting {
  explicit Domains(KubeSchedulerConfiguration config = aware()) : Preempting(std::move(config)) {
    engine.put_object(std::shared_ptr<const api::ClusterNetworkTopology>(spines_and_blocks()));
    for (const Place& p : kEight) engine.put_node(node_in(p.node, p.spine, p.block));
  }
  /// On each node a pod called as it is, of the priority that is said of its block.
  void full(const std::map<std::string_view, std::int32_t>& priorities) {
    for (const Place& p : kEight)
      run_on(std::string("on-") + p.node, p.node, "16", priorities.at(p.block), [](api::Pod& pod) {
        pod.metadata.labels[std::string(api::kQuestionedObjectKeyLabel)] = pod.metadata.name;
      });
  }
  void gathered(int members, const Says& says, std::string_view cpu = "16", const PodEdit& edit = {}) {
    for (int n = 0; n < members; ++n)
      engine.put_pod(member("g", n, members, says, cpu, [&](api::Pod& p) {
        p.spec.priority = 1000;
        if (edit) edit(p);
      }));
  }
};

const Says kBlock = gathers({{"BlockLayer", "MustGather"}});
const Says kSpine = gathers({{"SpineLayer", "MustGather"}});

TEST_CASE("in which domain pods go for a gang") {
  struct Row {
    const char* name;
    std::function<void(Domains&)> there;
    const char *victims, *nominated;
    const char* message = "";  // part of it
  };
  const Row rows[] = {
      {"of blocks that have as much room the one that costs the least",
       [](Domains& w) {
         w.full({{"b1", 5}, {"b2", 5}, {"b3", 1}, {"b4", 5}});
         w.gathered(2, kBlock);
       },
       "on-node-3 on-node-6", "g-000:node-3 g-001:node-6"},
      {"the first by name where all cost as much",
       [](Domains& w) {
         w.full({{"b1", 5}, {"b2", 5}, {"b3", 5}, {"b4", 5}});
         w.gathered(2, kBlock);
       },
       "on-node-1 on-node-8", "g-000:node-1 g-001:node-8"},
      {"the only one of which all may go",
       [](Domains& w) {
         w.full({{"b1", 2000}, {"b2", 2000}, {"b3", 2000}, {"b4", 7}});
         w.gathered(2, kBlock);
       },
       "on-node-4 on-node-5", "g-000:node-4 g-001:node-5"},
      {"a spine of which all may go",
       [](Domains& w) {
         w.full({{"b1", 1}, {"b2", 2000}, {"b3", 5}, {"b4", 5}});
         w.gathered(3, kSpine);
       },
       "on-node-3 on-node-4 on-node-6", "g-000:node-3 g-001:node-6 g-002:node-4"},
      {"who need not go stays",
       [](Domains& w) {
         w.full({{"b1", 2000}, {"b2", 2000}, {"b3", 2000}, {"b4", 2000}});
         for (const char* node : {"node-3", "node-6"}) {
           w.engine.remove_pod(*w.pods[std::string("on-") + node]);
           w.run_on(std::string("low-") + node, node, "8", 1);
           w.run_on(std::string("mid-") + node, node, "8", 2);
         }
         w.gathered(2, kBlock, "8");
       },
       "low-node-3 mid-node-3", "g-000:node-3 g-001:node-3"},
      {"what is free is taken as it is",
       [](Domains& w) {
         w.full({{"b1", 5}, {"b2", 5}, {"b3", 5}, {"b4", 5}});
         w.engine.remove_pod(*w.pods["on-node-7"]);
         w.gathered(2, kBlock);
       },
       "on-node-2", "g-000:node-7 g-001:node-2"},
      {"in multiples",
       [](Domains& w) {
         w.full({{"b1", 2000}, {"b2", 2000}, {"b3", 2000}, {"b4", 3}});
         w.gathered(4, gathers({{"BlockLayer", "MustGather"}, {"NodeTopologyLayer", "PreferGather", 2}}),
                    "6");
       },
       "on-node-4 on-node-5", "g-000:node-4 g-001:node-4 g-002:node-5 g-003:node-5"},
      {"nobody where no domain is large enough",
       [](Domains& w) {
         w.full({{"b1", 1}, {"b2", 1}, {"b3", 1}, {"b4", 1}});
         w.gathered(3, kBlock);
       },
       "", "",
       "preemption: 0/8 nodes are available: 8 no candidate topology nodes can accommodate job, "
       "desiredOfferSlot: 3, topology topologyNode BlockLayer/b1: 2;"},
      {"nobody who is as important",
       [](Domains& w) {
         w.full({{"b1", 1000}, {"b2", 1000}, {"b3", 1000}, {"b4", 1000}});
         w.gathered(2, kBlock);
       },
       "", "", "preemption: 0/8 nodes are available: 8 no potential victims."},
      {"nobody where the layer is unknown",
       [](Domains& w) {
         w.full({{"b1", 1}, {"b2", 1}, {"b3", 1}, {"b4", 1}});
         w.gathered(2, gathers({{"Rack", "MustGather"}}));
       },
       "", "", "ClusterNetworkTopology default has no layer Rack"},
      {"it does not preempt",
       [](Domains& w) {
         w.full({{"b1", 1}, {"b2", 1}, {"b3", 1}, {"b4", 1}});
         w.gathered(2, kBlock, "16", [](api::Pod& p) { p.spec.preemption_policy = "Never"; });
       },
       "", "", "preemption: not eligible due to preemptionPolicy=Never."},
      {"nobody whom a disruption budget keeps",
       [](Domains& w) {
         w.full({{"b1", 1}, {"b2", 1}, {"b3", 1}, {"b4", 1}});
         w.engine.put_object(budget(1));
         w.gathered(2, kBlock);
       },
       "", "", "no candidate topology nodes can accommodate job, desiredOfferSlot: 2"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Domains w;
    row.there(w);
    w.all();
    INFO(w.message());
    CHECK(w.victims() == row.victims);
    CHECK(w.nominated() == row.nominated);
    CHECK(w.bound() == "");
    CHECK(w.engine.assumed() == 0);
    const std::string said = w.tried() != nullptr ? w.message() : w.last.at(0).message();
    CHECK(said.find(row.message) != std::string::npos);
    const auto pods = static_cast<std::size_t>(std::ranges::count(std::string_view(row.nominated), ':'));
    CHECK(w.engine.nominator().size() == pods);
    if (pods == 0) continue;
    const auto nodes_of = [](const std::string& places) {
      std::multiset<std::string> nodes;
      for (std::size_t at = places.find(':'); at != std::string::npos; at = places.find(':', at + 1))
        nodes.insert(places.substr(at + 1, 6));
      return nodes;
    };
    const std::string where = w.nominated();
    w.evict();
    w.later();
    // Which of them gets which node is planned anew.
    CHECK(nodes_of(w.bound()) == nodes_of(where));
    CHECK(w.engine.nominator().size() == 0);
  }
}

TEST_CASE("who fits in a domain has nobody go") {
  Domains w;
  w.full({{"b1", 1}, {"b2", 1}, {"b3", 1}, {"b4", 1}});
  for (const char* name : {"on-node-4", "on-node-5"}) w.engine.remove_pod(*w.pods[name]);
  w.gathered(2, kBlock);
  w.all();
  CHECK(w.victims() == "");
  CHECK(w.bound() == "g-000:node-4 g-001:node-5");
}

TEST_CASE("the others of a gang hear what came of it, and while victims end nobody else goes") {
  Domains w;
  w.full({{"b1", 1}, {"b2", 1}, {"b3", 1}, {"b4", 1}});
  w.gathered(2, kBlock);
  w.all();
  REQUIRE(w.tried() != nullptr);
  CHECK(w.tried()->preemption().job == "default/g");
  const auto told = std::ranges::find_if(w.last, [](const Decision& d) { return d.kind() == Kind::gated; });
  REQUIRE(told != w.last.end());
  CHECK(
      told->message().ends_with("preemption: preemption already attempted by default/g-000 with message "
                                "preempt success, alreadyWaitingForBound: 0/2"));
  w.evict(false);
  for (int minute = 0; minute < 10; ++minute) {
    w.later(1min);
    CHECK(w.victims() == "");
    if (w.tried() != nullptr)
      CHECK(w.message().ends_with("preemption: not eligible due to terminating pod on the nominated node."));
  }
  CHECK(w.engine.nominator().size() == 2);
}

TEST_CASE("of a gang that its quota refuses those of its quota go, in a domain or not") {
  Domains w(with_quotas(aware({"Coscheduling", "ElasticQuota"})));
  w.engine.put_object(make_quota("a", "48", "48"));
  const PodEdit of_quota = in_quota("a");
  w.run_on("r1", "node-1", "16", 1, of_quota);
  w.run_on("r4", "node-4", "16", 2, of_quota);
  w.run_on("other", "node-8", "16", 1);
  w.gathered(2, kBlock, "16", of_quota);
  w.all();
  // One of 48 is free, and b2, b3 have room.
  CHECK(w.victims() == "r1");
  CHECK(w.nominated() == "g-000:node-2 g-001:node-7");
  w.evict();
  w.later();
  CHECK(w.bound() == "g-000:node-2 g-001:node-7");
}

TEST_CASE(
    "who stands in the way of a gang from another node than its own does not go for it, nor do others") {
  for (const char* noisy : {"node-1", "node-4"}) {
    CAPTURE(noisy);
    Domains w;
    w.full({{"b1", 2000}, {"b2", 2000}, {"b3", 1}, {"b4", 2000}});
    w.run_on("noisy", noisy, "0", 1, [](api::Pod& p) { p.metadata.labels["noisy"] = "yes"; });
    w.gathered(2, kBlock, "16", [](api::Pod& p) { stay_away(p, "noisy", "yes", kSpineLabel); });
    w.all();
    // node-4 is in the spine of b3.
    CHECK(w.victims() == (noisy == std::string_view("node-4") ? "" : "on-node-3 on-node-6"));
    CHECK(w.engine.nominator().size() == (noisy == std::string_view("node-4") ? 0U : 2U));
  }
}

/// Trees of spines and blocks, full of pods of several priorities.
TEST_CASE("whoever goes makes room for the whole gang in one domain, in random networks") {
  tell_stories(300, [](const auto& below) {
    Preempting w(aware());
    w.engine.put_object(std::shared_ptr<const api::ClusterNetworkTopology>(spines_and_blocks()));
    std::map<std::string, std::string> block_of;
    const int count = 4 + below(8);
    for (int n = 0; n < count; ++n) {
      const std::string name = fmt::format("node-{}", n), block = fmt::format("b{}", below(4));
      block_of[name] = block;
      w.engine.put_node(node_in(name, fmt::format("s{}", block.back() < '2' ? 1 : 2), block));
      for (int left = 16 - below(6), i = 0; left > 0; ++i) {
        const int cpu = 1 + below(std::min(left, 8));
        w.run_on(fmt::format("r{}-{}", n, i), name, std::to_string(cpu), 1 + below(5) * 10);
        left -= cpu;
      }
    }
    const int size = 1 + below(6), cpu = 2 + below(8), priority = 5 + below(5) * 10;
    const bool must = below(3) != 0;
    w.gang("g", size, std::to_string(cpu), priority, 0, [&](api::Pod& p) {
      for (const auto& [key, value] : gathers({{"BlockLayer", must ? "MustGather" : "PreferGather"}}))
        p.metadata.annotations[key] = value;
    });
    w.all();
    if (!w.bound().empty()) CHECK(w.victims().empty());
    if (w.victims().empty()) return false;
    CHECK(w.spares(priority));
    CHECK(w.engine.nominator().size() == static_cast<std::size_t>(size));
    w.evict();
    w.later();
    CHECK(std::ranges::count(w.bound(), ':') == size);
    std::set<std::string> blocks;
    for (const Decision& d : w.last)
      if (d.kind() == Kind::bind) blocks.insert(block_of.at(d.node().str()));
    if (must) CHECK(blocks.size() == 1);
    CHECK(w.engine.nominator().size() == 0);
    return true;
  });
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
