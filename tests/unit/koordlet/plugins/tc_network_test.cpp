// Keeping the host's network as it is wanted: the steps from whatever is there, agents that die between any
// two of them, others' qdiscs, the agent's task, and classes in cgroup v1.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <random>

#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/host/file.hpp"
#include "plugins/tc_network/tc_network.hpp"
#include "rigs/network_rig.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::tc_network {
namespace {

using host::HtbClass;
using host::TcHandle;

struct Killed {};

/// A kernel in memory that refuses what the real one refuses.
class FakeNetwork final : public Network {
 public:
  Result<Seen> observe(const Wanted&) override {
    if (unseen) return *unseen;
    Seen seen;
    seen.missing = missing;
    seen.observed = kernel;
    if (kernel.roots.empty() || kernel.roots.front().handle != kQdisc) seen.observed.classes.clear();
    seen.observed.program = program;
    if (!kernel.marks.whole) seen.observed.marks.classes.clear();
    return seen;
  }
  Result<> run(const Step& step) override {
    if (die_after && ran == *die_after) throw Killed();
    ++ran;
    if (refuse && step.kind == *refuse) return Error(refusal, "refused");
    auto& roots = kernel.roots;
    auto& classes = kernel.classes;
    switch (step.kind) {
      case StepKind::add_root:
        if (!roots.empty()) return Error(Code::already_exists, "a root is there");
        roots.push_back({kernel.link.index, "htb", kQdisc, kDefaultMinor});
        break;
      case StepKind::remove_root:
        if (std::erase_if(roots, [&](const host::RootQdisc& root) {
              return root.link == step.link.index && root.handle == kQdisc;
            }) == 0)
          return Error(Code::not_found, "no root");
        if (step.link.index == kernel.link.index) {
          classes.clear();
          kernel.filters.clear();
        }
        break;
      case StepKind::put_class: return put(step.what);
      case StepKind::remove_class: return remove(step.what.handle);
      case StepKind::put_group: kernel.groups[step.group] = step.of_class; break;
      case StepKind::forget_group: kernel.groups.erase(step.group); break;
      case StepKind::put_filter: kernel.filters = {{kFilterPriority, kFilterHandle, "bpf", program}}; break;
      case StepKind::make_marks: kernel.marks = {true, true, step.to}; break;
      case StepKind::change_marks:
        if (kernel.marks.classes != step.from) return Error(Code::not_found, "no such element");
        kernel.marks.classes = step.to;
        break;
      case StepKind::remove_marks: kernel.marks = {}; break;
    }
    return {};
  }
  /// Nothing of koord's is there.
  bool is_bare() const {
    return std::ranges::none_of(kernel.roots, [](const auto& root) { return root.handle == kQdisc; }) &&
           !kernel.marks.exists && kernel.groups.empty();
  }
  bool is(const Wanted& all) const {
    std::vector<HtbClass> classes = kernel.classes;
    std::ranges::sort(classes, {}, &HtbClass::handle);
    return classes == all.classes && kernel.marks.whole && kernel.marks.classes == all.addresses &&
           kernel.groups == all.groups && kernel.filters.size() == 1 &&
           kernel.filters.front().program == program;
  }

  Observed kernel{.link = {3, "eth0"}};
  std::uint32_t program = 10;  // each agent's own
  std::string missing;
  std::optional<std::size_t> die_after;
  std::optional<StepKind> refuse;
  Code refusal = Code::io;
  std::optional<Error> unseen;
  std::size_t ran = 0;

 private:
  Result<> put(const HtbClass& what) {
    if (kernel.roots.empty()) return Error(Code::not_found, "no qdisc");
    if (what.parent != host::kTcRoot && find(kernel.classes, what.parent) == nullptr)
      return Error(Code::not_found, "no parent");
    for (HtbClass& is : kernel.classes)
      if (is.handle == what.handle) {
        const TcHandle parent = is.parent;  // the kernel moves nothing
        is = what;
        is.parent = parent;
        return {};
      }
    kernel.classes.push_back(what);
    return {};
  }
  Result<> remove(TcHandle handle) {
    for (const HtbClass& is : kernel.classes)
      if (is.parent == handle) return Error(Code::io, "busy: it has children");
    if (std::erase_if(kernel.classes, [&](const HtbClass& is) { return is.handle == handle; }) == 0)
      return Error(Code::not_found, "no class");
    return {};
  }
};

/// A node that changes: pods come, go and change, tiers are switched on and off.
Inventory random_node(std::mt19937& random) {
  const auto pick = [&random](unsigned most) { return random() % most; };
  static const std::string kClasses[] = {"BE", "LS", "LSR", "SYSTEM", ""};
  static const std::string kLimits[] = {"", "", R"({"egressLimit":"1M"})", R"({"egressLimit":"9G"})"};
  std::vector<Said> pods;
  for (unsigned i = 0; i < 12; ++i)
    if (pick(3) > 0)
      pods.push_back({fmt::format("uid-{}", i), kClasses[pick(5)], fmt::format("10.0.0.{}", 1 + pick(20)),
                      kLimits[pick(4)], pick(4) == 0});
  return node_of(fmt::format(R"({{"resourceQOSStrategy":{{"policies":{{"netQOSPolicy":"{}"}},
      "lsClass":{{"networkQOS":{{"enable":{},"egressRequest":{}}}}},
      "beClass":{{"networkQOS":{{"enable":{},"egressRequest":{},"egressLimit":{}}}}}}},
      "systemStrategy":{{"totalNetworkBandwidth":"{}M"}}}})",
                             pick(8) == 0 ? "terway-qos" : "tc", pick(4) > 0, pick(50), pick(4) > 0, pick(10),
                             10 + pick(90), 10 + pick(1000)),
                 pods);
}

TEST_CASE("From whatever an agent left the next one comes to what is wanted, and to nothing",
          "[koordlet][network]") {
  std::mt19937 random(29);
  const koord::testing::Tree tree;
  const BootFile::Place mark{.path = tree / "network", .boot_id = "boot"};
  FakeNetwork network;
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const Wanted all = wanted(random_node(random));
    network.ran = 0;
    network.die_after.reset();
    if (random() % 2 == 0) network.die_after = random() % 12;
    try {
      (void)keep(network, all, mark);
    } catch (const Killed&) {
    }
    network.die_after.reset();
    // Whatever is there is known by the mark.
    REQUIRE((network.is_bare() || host::exists(mark.path)));
    if (random() % 2 == 0) ++network.program;                          // another agent's filter
    if (random() % 10 == 0) network.kernel.marks = {true, false, {}};  // somebody flushed the table
    if (random() % 10 == 0 && !network.kernel.classes.empty()) network.kernel.classes.pop_back();
    const Wanted next = random() % 3 == 0 ? Wanted{} : wanted(random_node(random));
    const Round done = keep(network, next, mark);
    INFO(done.wrong);
    REQUIRE(done.wrong.empty());
    REQUIRE(done.shaped == next.wanted);
    REQUIRE((next.wanted ? network.is(next) : network.is_bare()));
    REQUIRE(host::exists(mark.path) == next.wanted);
    const Round again = keep(network, next, mark);
    REQUIRE(again.done.empty());
    REQUIRE(again.shaped == next.wanted);
  }
}

TEST_CASE("An agent that dies between any two steps leaves what the next one takes back",
          "[koordlet][network]") {
  const Wanted all = wanted(
      node_of(kBoth, {{"a", "BE", "10.0.0.1", R"({"egressLimit":"1M"})"}, {"b", "LS", "10.0.0.2", {}}}));
  std::size_t steps = 0;
  for (bool killed = true; killed; ++steps) {
    CAPTURE(steps);
    const koord::testing::Tree tree;
    const BootFile::Place mark{.path = tree / "network", .boot_id = "boot"};
    FakeNetwork network;
    network.die_after = steps;
    killed = false;
    try {
      const Round round = keep(network, all, mark);
      CHECK(round.shaped);
    } catch (const Killed&) {
      killed = true;
    }
    network.die_after.reset();
    // Nobody may be in a class that is not there, nor held before those above have their rates.
    if (!network.kernel.marks.classes.empty())
      for (const auto& [who, of] : network.kernel.marks.classes) CHECK(find(network.kernel.classes, of));
    CHECK(keep(network, {}, mark).wrong.empty());
    CHECK(network.is_bare());
    CHECK_FALSE(host::exists(mark.path));
  }
  CHECK(steps == 1 + 8 + 2 + 1 + 1 + 1);  // root, classes, groups, filter, table, and the one that lives
}

TEST_CASE("Somebody else's qdisc stays, and nothing is put beside it", "[koordlet][network]") {
  const koord::testing::Tree tree;
  const BootFile::Place mark{.path = tree / "network", .boot_id = "boot"};
  const Wanted all = wanted(node_of(kBoth, {{"b", "BE", "10.0.0.2", {}}}));
  FakeNetwork network;
  CHECK(keep(network, all, mark).shaped);
  // Somebody puts his own in the place of koord's.
  network.kernel.roots = {{3, "htb", 0x10000, 1}};
  const Round round = keep(network, all, mark);
  CHECK_FALSE(round.shaped);
  CHECK(round.wrong ==
        "eth0: its root qdisc htb 1: is somebody else's and stays; to have koord shape what is "
        "sent, remove it (tc qdisc del dev eth0 root)");
  CHECK(network.is_bare());
  CHECK(network.kernel.roots.size() == 1);
  CHECK(keep(network, {}, mark).wrong.empty());
  CHECK(network.kernel.roots.size() == 1);
  network.kernel.roots.clear();
  CHECK(keep(network, all, mark).shaped);
  // The default route goes elsewhere: what was left behind goes.
  network.kernel.link = {4, "eth1"};
  network.kernel.classes.clear();
  network.kernel.filters.clear();
  CHECK(keep(network, all, mark).shaped);
  REQUIRE(network.kernel.roots.size() == 1);
  CHECK(network.kernel.roots.front().link == 4);
  // A route that is made anew is gone for a moment: nobody goes free meanwhile.
  network.kernel.link = {};
  const std::size_t ran = network.ran;
  const Round gone = keep(network, all, mark);
  CHECK(gone.wrong == "there is no default route; what is shaped stays so until there is one");
  CHECK_FALSE(gone.shaped);
  CHECK(network.ran == ran);
  CHECK(network.kernel.roots.size() == 1);
  network.kernel.link = {4, "eth1"};
  CHECK(keep(network, all, mark).done.empty());
  network.kernel.link = {};
  CHECK(keep(network, {}, mark).wrong.empty());
  CHECK(network.is_bare());
  CHECK(keep(network, all, mark).wrong == "there is no default route, so no device to shape");
  CHECK_FALSE(host::exists(mark.path));
}

TEST_CASE("There is no mark of a network that is not the host's", "[koordlet][network]") {
  koord::testing::Tree tree;
  const BootFile::Place mark{.path = tree / "network", .boot_id = "boot"};
  const Wanted all = wanted(node_of(kBoth, {{"b", "BE", "10.0.0.2", {}}}));
  FakeNetwork network;
  network.unseen = Error(Code::unsupported, "not the host's network");
  CHECK(keep(network, all, mark).wrong == "not the host's network");
  CHECK_FALSE(host::exists(mark.path));
  CHECK(keep(network, {}, mark).wrong.empty());
  network.unseen = Error(Code::io, "it does not answer");
  CHECK(keep(network, {}, mark).wrong == "it does not answer");
  network.unseen.reset();
  CHECK(keep(network, all, mark).shaped);
  network.unseen = Error(Code::unsupported, "not the host's network");
  CHECK(keep(network, {}, mark).wrong == "not the host's network");
  // A mark that somebody has removed is there again.
  network.unseen.reset();
  tree.remove("network");
  CHECK(keep(network, all, mark).done.empty());
  CHECK(host::exists(mark.path));
}

TEST_CASE("A pod's group that goes between look and step is no fault; who moves is told to who asks",
          "[koordlet][network]") {
  const koord::testing::Tree tree;
  const BootFile::Place mark{.path = tree / "network", .boot_id = "boot"};
  FakeNetwork network;
  CHECK(keep(network, wanted(node_of(kBoth)), mark).reshaped);
  const Wanted all = wanted(node_of(kBoth, {{"b", "BE", "10.0.0.2", {}}}));
  network.refuse = StepKind::put_group;
  network.refusal = Code::not_found;
  Round round = keep(network, all, mark);
  CHECK(round.shaped);
  CHECK_FALSE(round.reshaped);
  CHECK(round.done.size() == 1);
  network.refusal = Code::io;
  CHECK_FALSE(keep(network, all, mark).shaped);
  Pause pause;
  CHECK(pause.is_over(MonoTime{}));
  pause.begin(MonoTime{});
  CHECK_FALSE(pause.is_over(MonoTime{} + std::chrono::seconds(599)));
  CHECK(pause.is_over(MonoTime{} + std::chrono::minutes(10)));
}

TEST_CASE("What the kernel refuses is told, the rest is done, and tried again", "[koordlet][network]") {
  const koord::testing::Tree tree;
  const BootFile::Place mark{.path = tree / "network", .boot_id = "boot"};
  const Wanted all = wanted(node_of(kBoth, {{"b", "BE", "10.0.0.2", {}}}));
  FakeNetwork network;
  network.refuse = StepKind::add_root;
  CHECK(keep(network, all, mark).wrong == "refused");
  CHECK(network.kernel.classes.empty());
  network.refuse = StepKind::put_filter;
  CHECK_FALSE(keep(network, all, mark).shaped);
  CHECK(network.kernel.marks.classes.size() == 1);
  network.refuse.reset();
  CHECK(keep(network, all, mark).shaped);
  // Without rights for groups, addresses still count, and it is told.
  network.missing = "no eBPF";
  network.program = 0;
  const Round round = keep(network, all, mark);
  CHECK_FALSE(round.shaped);
  CHECK(round.wrong == "no eBPF");
  CHECK(network.kernel.marks.classes.size() == 1);
  // Where nothing is wanted and nothing was it is nobody's business.
  FakeNetwork bare;
  bare.missing = "no rights";
  CHECK(keep(bare, {}, {.path = tree / "none"}).wrong.empty());
  network.refuse = StepKind::remove_marks;
  CHECK_FALSE(keep(network, {}, mark).wrong.empty());
  CHECK(host::exists(mark.path));
}

/// The agent's task over a kernel in memory.
struct Running {
  Running() { tasks.spawn("network", network.run()); }
  ~Running() { test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(1)), true); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// Runs until it holds, without letting time pass by itself. The kernel is asked on another thread.
  template <class Holds>
  bool until(const Holds& holds) {
    for (int i = 0; i < 60'000 && !holds(); ++i) {
      loop.context.restart();
      loop.context.run_for(std::chrono::milliseconds(1));
    }
    return holds();
  }
  bool shaped(int value) const {
    return metrics.exposition().find(fmt::format("koordlet_network_shaped {}\n", value)) != std::string::npos;
  }
  long told(std::string_view text) const {
    const auto lines = captured.lines();
    return std::ranges::count_if(
        lines, [text](const std::string& line) { return line.find(text) != std::string::npos; });
  }

  test::Loop loop;
  CapturedLog captured;
  Logger log{captured, loop.clock};
  metrics::Registry metrics;
  InventoryHub hub;
  WorkerPool workers{1};
  koord::testing::Tree tree;
  TaskGroup tasks{loop.executor()};
  std::unique_ptr<FakeNetwork> made = std::make_unique<FakeNetwork>();
  FakeNetwork& kernel = *made;
  TcNetwork network{{loop.clock, log, workers, hub, metrics, nullptr},
                    std::move(made),
                    {.path = tree / "network", .boot_id = "boot"}};
};

TEST_CASE("The network follows what is said, is looked at every ten seconds, and what is wrong is told once",
          "[koordlet][network]") {
  Running agent;
  agent.loop.settle();
  CHECK(agent.kernel.ran == 0);  // nobody has said anything yet
  agent.hub.publish(node_of(kBoth, {{"a", "BE", "10.0.0.1", {}}}));
  REQUIRE(agent.until([&] { return agent.shaped(1); }));
  const std::size_t first = agent.kernel.ran;
  CHECK(first == 1 + 7 + 1 + 1 + 1);  // root, classes, a group, filter, table
  // Nonsense leaves it, and is told.
  agent.hub.publish(node_of(R"({"systemStrategy":{"totalNetworkBandwidth":"1000"}})"));
  REQUIRE(agent.until([&] { return agent.shaped(0); }));
  CHECK(agent.told("totalNetworkBandwidth: 1k: expected 1M to 100T bits a second") == 1);
  CHECK(agent.kernel.ran == first);
  agent.hub.publish(node_of(kBoth, {{"a", "BE", "10.0.0.1", {}}}));
  REQUIRE(agent.until([&] { return agent.shaped(1); }));
  CHECK(agent.kernel.ran == first);
  // Somebody else's qdisc comes: seen within ten seconds, told once for as long as it stays.
  agent.kernel.kernel.roots = {{3, "fq", 0x80010000, 0}};
  agent.loop.clock.advance(std::chrono::seconds(10));
  REQUIRE(agent.until([&] { return agent.shaped(0); }));
  for (int i = 0; i < 3; ++i) {
    agent.loop.advance(std::chrono::seconds(10));
    agent.hub.publish(node_of(kBoth, {{"a", "BE", "10.0.0.1", {}}}));
  }
  CHECK(agent.told("its root qdisc fq 8001: is somebody else's") == 1);
  agent.kernel.kernel.roots.clear();
  agent.hub.publish(node_of(kBoth));
  REQUIRE(agent.until([&] { return agent.shaped(1); }));
  // There is no NodeSLO any more.
  Inventory gone;
  gone.slo_known = gone.pods_known = true;
  agent.hub.publish(std::move(gone));
  REQUIRE(agent.until([&] { return agent.shaped(0); }));
  CHECK(agent.kernel.is_bare());
  CHECK_FALSE(host::exists(agent.tree / "network"));
}

TEST_CASE("In cgroup v1 groups have their class by net_cls, and others' classes stay",
          "[koordlet][network]") {
  koord::testing::Tree tree;
  const auto put = [&tree](const std::string& group, std::string_view text) {
    tree.write("net_cls/" + group + "net_cls.classid", std::string(text));
  };
  const auto is = [&tree](const std::string& group) {
    return *read_file(tree / ("net_cls/" + group + "net_cls.classid"));
  };
  put("", "0\n");
  put("kubepods/", "0\n");
  put("kubepods/podbe/", "0\n");
  put("kubepods/podbe/c1/", "0\n");
  put("kubepods/podbe/c2/", "65539\n");  // 1:3, somebody else's
  put("kubepods/podgone/", fmt::format("{}\n", class_of(0x14)));
  ClassFiles files(tree / "net_cls");
  const std::map<std::string, TcHandle> groups = {{"kubepods/podbe", class_of(0x14)},
                                                  {"kubepods/podlate", class_of(0x13)}};
  auto state = files.read(groups);
  REQUIRE(state.has_value());
  CHECK(state->absent == std::set<std::string>{"kubepods/podlate"});
  CHECK(state->groups.at("kubepods/podbe") == class_of(0));
  CHECK(state->groups.at("kubepods/podgone") == class_of(0x14));
  CHECK(files.put("kubepods/podbe", class_of(0x14)).has_value());
  CHECK(is("kubepods/podbe/") == std::to_string(class_of(0x14)));
  CHECK(is("kubepods/podbe/c1/") == std::to_string(class_of(0x14)));
  CHECK(is("kubepods/podbe/c2/") == "65539\n");
  state = files.read(groups);
  CHECK(state->groups.at("kubepods/podbe") == class_of(0x14));
  CHECK(files.forget("kubepods/podbe").has_value());
  CHECK(files.forget("kubepods/podgone").has_value());
  CHECK(files.forget("kubepods/podnever").has_value());
  CHECK(is("kubepods/podbe/c1/") == "0");
  CHECK(is("kubepods/podbe/c2/") == "65539\n");
  CHECK(files.read({})->groups.empty());
  CHECK(files.put("kubepods/podlate", class_of(0x13)).error().code() == Code::not_found);
  CHECK(ClassFiles(tree / "nowhere").read({}).error().code() == Code::not_found);
}

}  // namespace
}  // namespace koord::koordlet::tc_network
