// What the host's network shall be like, with the original's rows: rates, tiers, who is in which class.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "rigs/network_rig.hpp"

namespace koord::koordlet::tc_network {
namespace {

using api::IntOrString;
using host::HtbClass;
using host::TcHandle;

std::string bits(const IntOrString& part, std::uint64_t total) {
  const auto read = bits_of(part, total);
  return read ? std::to_string(*read) : std::string(read.error().message());
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

}  // namespace
}  // namespace koord::koordlet::tc_network
