// The host's network by classes, with the original's rows: rates, who is in which class, the steps to what is
// wanted from whatever is there, agents that die between any two of them, and others' qdiscs.
#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <random>

#include "framework/model/inventory.hpp"
#include "koord/api/koordinator/pod_io.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/host/file.hpp"
#include "plugins/tc_network/tc_network.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::tc_network {
namespace {

using api::IntOrString;
using host::HtbClass;
using host::TcHandle;

std::string bits(const IntOrString& part, std::uint64_t total) {
  const auto read = bits_of(part, total);
  return read ? std::to_string(*read) : std::string(read.error().message());
}

std::shared_ptr<const api::NodeSloSpec> slo_of(std::string_view json) {
  auto spec = api::decode<api::NodeSloSpec>(json);
  REQUIRE(spec.has_value());
  return std::make_shared<const api::NodeSloSpec>(std::move(*spec));
}

/// Of 100 Mbit/s LS is guaranteed 40% and BE 10%, at most 20M.
constexpr std::string_view kBoth = R"({"resourceQOSStrategy":{"policies":{"netQOSPolicy":"tc"},
  "lsClass":{"networkQOS":{"enable":true,"egressRequest":40,"egressLimit":100}},
  "beClass":{"networkQOS":{"enable":true,"egressRequest":10,"egressLimit":"20M"}}},
  "systemStrategy":{"totalNetworkBandwidth":"100M"}})";

struct Said {
  std::string uid, qos, address, annotation;
  bool host_network = false;
};
std::shared_ptr<const PodInfo> pod_of(const Said& said) {
  auto object = std::make_shared<api::Pod>();
  if (!said.qos.empty()) object->metadata.labels["koordinator.sh/qosClass"] = Symbol(said.qos);
  if (!said.annotation.empty())
    object->metadata.annotations[api::PodNetworkQos::kAnnotation] = Symbol(said.annotation);
  object->spec.host_network = said.host_network;
  object->status.host_ip = Symbol("192.168.0.100");
  object->status.pod_ip = Symbol(said.address);
  auto pod = std::make_shared<PodInfo>();
  pod->uid = pod->name = said.uid;
  pod->ns = "default";
  pod->group = "kubepods/pod" + said.uid;
  pod->object = std::move(object);
  return pod;
}
Inventory node_of(std::string_view slo, const std::vector<Said>& pods = {}) {
  Inventory inventory;
  inventory.slo_known = inventory.pods_known = true;
  inventory.slo = slo_of(slo);
  for (const Said& pod : pods) inventory.all_pods.push_back(pod_of(pod));
  return inventory;
}
Wanted wanted(const Inventory& inventory) {
  std::string error;
  auto all = wanted_of(inventory, error);
  INFO(error);
  REQUIRE(all.has_value());
  return std::move(*all);
}
host::IpAddress address(std::string_view text) { return *host::parse_address(text); }
const HtbClass* find(const std::vector<HtbClass>& classes, TcHandle handle) {
  const auto it = std::ranges::find(classes, handle, &HtbClass::handle);
  return it == classes.end() ? nullptr : &*it;
}

TEST_CASE("A part of the bandwidth in bits, as the original's rows have it", "[koordlet][network]") {
  struct Row {
    IntOrString part;
    std::uint64_t total;
    std::string bits;
  };
  const Row rows[] = {
      // The original takes what it cannot read for 0.
      {IntOrString(-1), 1000, "-1: expected 0 to 100 percent"},
      {IntOrString(0), 1000, "0"},
      {IntOrString(200), 1000, "200: expected 0 to 100 percent"},
      {IntOrString(10), 1000, "100"},
      {IntOrString("aaa"), 1000, "\"aaa\": expected bits a second, as 10M"},
      {IntOrString(""), 1000, "\"\": expected bits a second, as 10M"},
      {IntOrString("2k"), 10'000, "2000"},
      {IntOrString("-2k"), 10'000, "\"-2k\": expected bits a second, as 10M"},
      {IntOrString(100), UINT64_MAX, std::to_string(UINT64_MAX)},
  };
  for (const Row& row : rows) CHECK(bits(row.part, row.total) == row.bits);
}

TEST_CASE("What the node sends at most, as the original's rows have it", "[koordlet][network]") {
  struct Row {
    std::string_view slo;
    EgressRates rates;
  };
  const Row rows[] = {
      {"{}", {}},
      {R"({"resourceQOSStrategy":{"lsClass":{"networkQOS":{"enable":true}}}})", {}},
      {R"({"resourceQOSStrategy":{"lsClass":{"networkQOS":{"enable":false,"egressRequest":10}}},
           "systemStrategy":{"totalNetworkBandwidth":"100M"}})",
       {.total = 12'500'000}},
      {R"({"resourceQOSStrategy":{"lsClass":{"networkQOS":{"enable":true,"egressRequest":10}}}})", {}},
      {R"({"resourceQOSStrategy":{"lsClass":{"networkQOS":{"enable":true,"egressRequest":10}}},
           "systemStrategy":{"totalNetworkBandwidth":"100M"}})",
       {.total = 12'500'000, .ls = {true, 1'250'000, 12'500'000}}},
      {R"({"resourceQOSStrategy":{"lsClass":{"networkQOS":{"enable":true,"egressRequest":"10M"}}},
           "systemStrategy":{"totalNetworkBandwidth":"100M"}})",
       {.total = 12'500'000, .ls = {true, 1'250'000, 12'500'000}}},
      {kBoth, {12'500'000, {true, 5'000'000, 12'500'000}, {true, 1'250'000, 2'500'000}}},
      // Without a limit of its own, as the original has it; more than there is is all that there is.
      {R"({"resourceQOSStrategy":{"beClass":{"networkQOS":{"enable":true,"egressRequest":10,"egressLimit":0}},
           "lsClass":{"networkQOS":{"enable":true,"egressLimit":"1T"}}},"systemStrategy":{"totalNetworkBandwidth":"80M"}})",
       {10'000'000, {true, 0, 10'000'000}, {true, 1'000'000, 1'000'000}}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.slo);
    const auto rates = egress_rates(*slo_of(row.slo));
    REQUIRE(rates.has_value());
    CHECK(*rates == row.rates);
  }
}

TEST_CASE("What makes no sense leaves the network as it is, and is told by its field",
          "[koordlet][network]") {
  const auto slo = [](std::string_view ls, std::string_view be, std::string_view total) {
    return fmt::format(R"({{"resourceQOSStrategy":{{"lsClass":{{"networkQOS":{{"enable":true,{}}}}},
        "beClass":{{"networkQOS":{{"enable":true,{}}}}}}},"systemStrategy":{{"totalNetworkBandwidth":"{}"}}}})",
                       ls, be, total);
  };
  constexpr std::string_view kFine = R"("egressRequest":10)";
  struct Row {
    std::string slo, error;
  };
  const Row rows[] = {
      // A total in Mbit a second: taken by its word it would cut the node off.
      {slo(kFine, kFine, "1000"), "totalNetworkBandwidth: 1k: expected 1M to 100T bits a second"},
      {slo(kFine, kFine, "-1"), "totalNetworkBandwidth: -1: expected 1M to 100T bits a second"},
      {slo(kFine, kFine, "1P"), "totalNetworkBandwidth: 1P: expected 1M to 100T bits a second"},
      {slo(R"("egressRequest":101)", kFine, "100M"),
       "lsClass.networkQOS: egressRequest: 101: expected 0 to 100 percent"},
      {slo(kFine, R"("egressRequest":50,"egressLimit":20)", "100M"),
       "beClass.networkQOS: egressRequest: 50000000 is more than egressLimit, 20000000"},
      {slo(kFine, R"("egressRequest":0,"egressLimit":0)", "100M"),
       "beClass.networkQOS: egressLimit: expected more than 0"},
      {slo(R"("egressRequest":60)", R"("egressRequest":50)", "100M"),
       "lsClass and beClass: their egressRequest are more than the whole bandwidth"},
      {slo(R"("egressRequest":"101M")", kFine, "100M"),
       "lsClass.networkQOS: egressRequest: 101000000 is more than egressLimit, 100000000"},
  };
  for (const Row& row : rows) {
    std::string error;
    CHECK_FALSE(wanted_of(node_of(row.slo), error).has_value());
    CHECK(error == row.error);
  }
}

TEST_CASE("When the network is shaped, and when it is not", "[koordlet][network]") {
  Inventory inventory;
  std::string error;
  CHECK_FALSE(wanted_of(inventory, error).has_value());  // nobody has said anything yet
  inventory.slo_known = true;
  CHECK_FALSE(wanted(inventory).wanted);  // there is no NodeSLO
  inventory.slo = slo_of(kBoth);
  CHECK_FALSE(wanted_of(inventory, error).has_value());  // its pods are not known
  CHECK(error.empty());
  CHECK(wanted(node_of(kBoth)).wanted);
  CHECK_FALSE(wanted(node_of(R"({"resourceQOSStrategy":{"policies":{"netQOSPolicy":"terway-qos"}},
      "systemStrategy":{"totalNetworkBandwidth":"1"}})"))
                  .wanted);
  // The default install: no class is enabled, or no bandwidth is said.
  constexpr std::string_view kIdle = R"({"systemStrategy":{"totalNetworkBandwidth":"100M"}})";
  CHECK_FALSE(wanted(node_of(kIdle)).wanted);
  CHECK_FALSE(wanted(node_of(R"({"systemStrategy":{"totalNetworkBandwidth":"0"}})")).wanted);
  // But for a pod that wants to be held, without a word of the policy.
  CHECK(wanted(node_of(kIdle, {{"a", "BE", "10.0.0.1", R"({"egressLimit":"1M"})"}})).wanted);
  CHECK_FALSE(wanted(node_of(kIdle, {{"a", "BE", "10.0.0.1", R"({"ingressLimit":"1M"})"}})).wanted);
}

TEST_CASE("The tiers: rates, ceilings, priorities, and where all others go", "[koordlet][network]") {
  const Wanted all = wanted(node_of(kBoth));
  struct Row {
    std::uint16_t minor;
    TcHandle parent;
    std::uint64_t rate, ceil;
    std::uint32_t priority;
  };
  const Row rows[] = {
      {1, host::kTcRoot, 12'500'000, 12'500'000, 0}, {2, class_of(1), 6'250'000, 12'500'000, 1},
      {3, class_of(1), 5'000'000, 12'500'000, 2},    {4, class_of(1), 1'250'000, 2'500'000, 3},
      {0x12, class_of(2), 1000, 12'500'000, 1},      {0x13, class_of(3), 1000, 12'500'000, 2},
      {0x14, class_of(4), 1000, 2'500'000, 3}};
  REQUIRE(all.classes.size() == std::size(rows));
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const HtbClass& is = all.classes[i];
    CHECK(is.handle == class_of(rows[i].minor));
    CHECK(is.parent == rows[i].parent);
    CHECK(is.rate == rows[i].rate);
    CHECK(is.ceil == rows[i].ceil);
    CHECK(is.priority == rows[i].priority);
  }
}

TEST_CASE("Pods: by class, by address or by group, and none escapes its tier", "[koordlet][network]") {
  const std::vector<Said> pods = {
      {"be", "BE", "10.0.0.1", {}},
      {"ls", "LS", "10.0.0.2", {}},
      {"lsr", "LSR", "10.0.0.3", {}},
      {"lse", "LSE", "fd00::4", {}},
      {"system", "SYSTEM", "10.0.0.5", {}},
      {"none", "", "10.0.0.6", R"({"egressLimit":"1M"})"},  // as with the original
      {"host", "BE", "192.168.0.100", {}, true},
      {"lies", "BE", "192.168.0.100", {}},  // the host's address is nobody's
      {"local", "BE", "127.0.0.1", {}},
      {"greedy", "BE", "10.0.0.7", R"({"egressLimit":"100G"})"},
      {"small", "LS", "10.0.0.8", R"({"egressLimit":"8k"})"},
      {"tiny", "LS", "10.0.0.9", R"({"egressLimit":"1"})"},
      {"broken", "BE", "10.0.0.10", "{"},
      {"waiting", "BE", "", {}},
  };
  const Wanted all = wanted(node_of(kBoth, pods));
  const auto of = [&all](std::string_view text) {
    const auto it = all.addresses.find(address(text));
    return it == all.addresses.end() ? 0 : it->second & 0xFFFF;
  };
  CHECK(of("10.0.0.1") == 0x14);
  CHECK(of("10.0.0.2") == 0x13);
  CHECK(of("10.0.0.3") == 0x13);
  CHECK(of("fd00::4") == 0x13);
  CHECK(of("10.0.0.5") == 0);
  CHECK(of("10.0.0.6") == 0);
  CHECK(of("192.168.0.100") == 0);
  CHECK(of("127.0.0.1") == 0);
  CHECK(of("10.0.0.9") == 0x13);
  CHECK(of("10.0.0.10") == 0x14);
  CHECK(all.groups.at("kubepods/podhost") == class_of(0x14));
  CHECK(all.groups.at("kubepods/podls") == class_of(0x13));
  CHECK_FALSE(all.groups.contains("kubepods/podnone"));
  // A limit beyond the tier's ceiling is that ceiling, and guarantees nothing: the original gives it all.
  const HtbClass* const greedy = find(all.classes, class_of(static_cast<std::uint16_t>(of("10.0.0.7"))));
  REQUIRE(greedy != nullptr);
  CHECK(greedy->parent == class_of(4));
  CHECK(greedy->ceil == 2'500'000);
  CHECK(greedy->rate == 1000);
  CHECK(greedy->priority == 3);
  const HtbClass* const small = find(all.classes, class_of(static_cast<std::uint16_t>(of("10.0.0.8"))));
  REQUIRE(small != nullptr);
  CHECK(small->parent == class_of(3));
  CHECK(small->ceil == 1000);  // the original divides by 64
  REQUIRE(all.warnings.size() == 4);
  CHECK(all.warnings[0] == "pod default/lies: status.podIPs: \"192.168.0.100\" is no address of a pod");
  CHECK(all.warnings[2] ==
        "pod default/tiny: koordinator.sh/networkQOS: egressLimit 1: expected at least 8000 bits a second");
  // The class of a pod is the same in each agent.
  CHECK(wanted(node_of(kBoth, pods)).classes == all.classes);
}

TEST_CASE("An address that two pods have is of the more urgent one", "[koordlet][network]") {
  for (const bool turned : {false, true}) {
    std::vector<Said> pods = {{"a", "BE", "10.0.0.1", {}}, {"b", "LS", "10.0.0.1", {}}};
    if (turned) std::swap(pods[0].qos, pods[1].qos);
    CHECK(wanted(node_of(kBoth, pods)).addresses.at(address("10.0.0.1")) == class_of(0x13));
  }
}

struct Killed {};

/// A kernel in memory that refuses what the real one refuses.
class FakeNetwork final : public Network {
 public:
  Result<Seen> observe(const Wanted&) override {
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
    if (refuse && step.kind == *refuse) return Error(Code::io, "refused");
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
  network.kernel.link = {};
  CHECK(keep(network, all, mark).wrong == "there is no default route, so no device to shape");
  CHECK(network.is_bare());
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
