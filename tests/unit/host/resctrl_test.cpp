// Resctrl: what the machine can, texts, masks and bandwidth: the original's rows, and machines that it has
// none for.
#include "koord/host/resctrl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <catch2/catch.hpp>
#include <random>

#include "support/tree.hpp"

using namespace koord;
using namespace koord::host;
using koord::testing::Tree;

namespace {

constexpr ResctrlBandwidth kIntel{.least = 10, .step = 10, .most = 100, .ids = {}};
constexpr ResctrlBandwidth kAmd{
    .scale = BandwidthScale::units, .least = 1, .step = 1, .most = 2048, .ids = {}};

/// A machine: what it says in /sys/fs/resctrl.
struct Machine {
  std::string schemata, mask, mask_bits, gran, least;
};
void write(Tree& tree, const Machine& machine) {
  const std::string top = "sys/fs/resctrl/";
  tree.write(fmt::format("{}schemata", top), machine.schemata);
  const auto file = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) tree.write(fmt::format("{}info/{}", top, name), text);
  };
  file("L3/cbm_mask", machine.mask);
  file("L3/min_cbm_bits", machine.mask_bits);
  if (!machine.mask.empty()) file("L3/num_closids", "16\n");
  file("MB/bandwidth_gran", machine.gran);
  file("MB/min_bandwidth", machine.least);
  if (!machine.gran.empty()) file("MB/num_closids", "8\n");
}
Result<ResctrlInfo> info_of(const Machine& machine) {
  Tree tree;
  write(tree, machine);
  return read_resctrl_info(Root::below(tree.path()));
}

}  // namespace

// Test_calculateCatL3Schemata
TEST_CASE("A cache's mask by percent, as the original's rows have it") {
  struct Row {
    std::uint64_t full;
    std::int64_t start, end;
    std::optional<std::uint64_t> mask;
  };
  const Row rows[] = {
      {0, 0, 0, {}},       {0x101, 0, 100, {}},    {4, 0, 100, {}},       {0xff, -10, 100, {}},
      {0xff, 30, 30, {}},  {0xff, 0, 100, 0xff},   {0x3ff, 10, 80, 0xfe}, {0x7ff, 10, 50, 0x3c},
      {0x3ff, 0, 30, 0x7}, {0x3ff, 10, 85, 0x1fe}, {0x7ff, 0, 50, 0x3f},  {0xf, 0, 100, 0xf},
  };
  for (const Row& row : rows) {
    CAPTURE(row.full, row.start, row.end);
    const auto mask = cache_mask(row.full, 1, row.start, row.end);
    REQUIRE(mask.has_value() == row.mask.has_value());
    if (mask) CHECK(*mask == *row.mask);
  }
}

TEST_CASE("A mask has as many parts as the kernel wants, in one piece, whatever the percentages") {
  CHECK(cache_mask(0xfff, 2, 0, 1).value() == 0x3);
  CHECK(cache_mask(0xfff, 2, 99, 100).value() == 0xc00);
  CHECK(cache_mask(0xf, 1, 76, 100).value() == 0x8);  // both percentages are rounded up to the end
  CHECK(cache_mask(0xf, 9, 0, 1).value() == 0xf);
  CHECK(cache_mask(~std::uint64_t{0}, 1, 0, 100).value() == ~std::uint64_t{0});
  for (int parts = 1; parts <= 64; ++parts)
    for (int least = 1; least <= 4; ++least)
      for (int start = 0; start < 100; start += 3)
        for (int end = start + 1; end <= 100; end += 7) {
          const std::uint64_t full = parts == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << parts) - 1;
          const auto mask = cache_mask(full, least, start, end);
          const bool good =
              mask && (*mask & ~full) == 0 && std::popcount(*mask) >= std::min(least, parts) &&
              static_cast<int>(std::bit_width(*mask)) - std::countr_zero(*mask) == std::popcount(*mask);
          if (!good) FAIL(fmt::format("{} parts, {} least, {} to {}", parts, least, start, end));
        }
}

// Test_calculateMbaPercentForGroup; the row without a percentage is the strategy's.
TEST_CASE("Bandwidth by percent, as the original's rows have it") {
  CHECK_FALSE(bandwidth_value(kIntel, 0));
  CHECK_FALSE(bandwidth_value(kIntel, 101));
  CHECK(bandwidth_value(kIntel, 85) == 90);
  CHECK(bandwidth_value(kIntel, 80) == 80);
  CHECK(bandwidth_value(kAmd, 80) == 128);
  CHECK(bandwidth_value(kAmd, 100) == 2048);
  CHECK(bandwidth_value(kAmd, 30) == 48);
}

TEST_CASE("Bandwidth of machines that the original has no rows for") {
  CHECK_FALSE(bandwidth_value(kAmd, 101));
  CHECK(bandwidth_value(kAmd, 1) == 1);
  CHECK(bandwidth_value({.scale = BandwidthScale::units, .most = 4096, .ids = {}}, 50) == 160);
  CHECK(bandwidth_value({.scale = BandwidthScale::units, .most = 4096, .ids = {}}, 100) == 4096);
  CHECK_FALSE(bandwidth_value({.scale = BandwidthScale::megabytes, .most = UINT32_MAX, .ids = {}}, 50));
  const ResctrlBandwidth arm{.least = 5, .step = 3, .most = 100, .ids = {}};
  CHECK(bandwidth_value(arm, 1) == 5);
  CHECK(bandwidth_value(arm, 50) == 51);
  CHECK(bandwidth_value(arm, 100) == 100);
}

// TestResctrlSchemataRaw
TEST_CASE("Schemata are printed as the original prints them") {
  CHECK(print_schemata({"L3", {{0, 0xf}}}) == "L3:0=f;\n");
  CHECK(print_schemata({"MB", {{0, 90}}}) == "MB:0=90;\n");
  CHECK(print_schemata({"L3", {{0, 0xfff}, {1, 0xfff}}}) == "L3:0=fff;1=fff;\n");
  CHECK(print_schemata({"MB", {{0, 100}, {1, 100}}}) == "MB:0=100;1=100;\n");
  CHECK(print_schemata({"L3", {{0, 0xfff}, {8, 0xfff}}}) == "L3:0=fff;8=fff;\n");
  CHECK(print_schemata({"MB", {{0, 100}, {8, 100}}}) == "MB:0=100;8=100;\n");
  CHECK(print_schemata({"L3", {}}).empty());
}

// TestCheckResctrlSchemataValid
TEST_CASE("Schemata are read, others' lines are left out, and nonsense is named") {
  const auto ids = [](std::string_view text, std::string_view name) {
    std::vector<int> found;
    const auto lines = parse_schemata(text);
    REQUIRE(lines.has_value());
    for (const auto& line : *lines)
      if (line.name == name)
        for (const auto& field : line.fields) found.push_back(field.id);
    return found;
  };
  CHECK(parse_schemata("")->empty());
  CHECK(ids("MB:0=100;1=100", "L3").empty());
  CHECK(ids("MB:0=100;1=100\nL3:0=fff;1=fff", "L3") == std::vector{0, 1});
  const char* const amd =
      "    L3:0=ffff;1=ffff;2=ffff;3=ffff;4=ffff\n    MB:0=2048;1=2048;2=2048;3=2048;4=2048";
  CHECK(ids(amd, "MB") == std::vector{0, 1, 2, 3, 4});
  CHECK(ids("L2:0=f\nMB:  8= 10;  0=100;\nSMBA:0=1\nL3PRI:1=2\n", "MB") == std::vector{0, 8});
  for (const char* bad : {"L3", "L3:0", "L3:0=xyz", "L3:x=f", "L3:0=f;0=f", "L3:-1=f", "MB:0=ff",
                          "L3:0=f\nL3:1=f", "L3:0=11112222333344445", "MB:99999999999=1"}) {
    CAPTURE(bad);
    const auto lines = parse_schemata(bad);
    REQUIRE_FALSE(lines.has_value());
    CHECK(lines.error().code() == Code::parse);
  }
}

// Test_ReadResctrlTasksMap
TEST_CASE("Tasks of a group") {
  CHECK(parse_tasks("")->empty());
  CHECK(parse_tasks("101\n111\n").value() == std::vector<std::int32_t>{101, 111});
  CHECK_FALSE(parse_tasks("101\n1aa\n").has_value());
  CHECK_FALSE(parse_tasks("-1\n").has_value());
  CHECK_FALSE(parse_tasks("99999999999\n").has_value());
}

TEST_CASE("What the machine can is in info, whoever made it") {
  const auto intel = info_of({"    L3:0=7ff;1=7ff\n    MB:0=100;1=100\n", "7ff\n", "2\n", "10\n", "10\n"});
  REQUIRE(intel.has_value());
  REQUIRE(intel->caches.size() == 1);
  CHECK(intel->caches[0].full == 0x7ff);
  CHECK(intel->caches[0].least_bits == 2);
  CHECK(intel->caches[0].ids == std::vector{0, 1});
  CHECK(intel->bandwidth->scale == BandwidthScale::percent);
  CHECK(intel->bandwidth->step == 10);
  CHECK(intel->groups == 8);
  CHECK_FALSE(intel->occupancy);

  const auto amd = info_of({"MB:0=4096;8=2048\nL3:0=ffff;8=ffff\n", "ffff\n", "1\n", "1\n", "1\n"});
  REQUIRE(amd.has_value());
  CHECK(amd->bandwidth->scale == BandwidthScale::units);
  CHECK(amd->bandwidth->most == 4096);
  CHECK(amd->bandwidth->ids == std::vector{0, 8});

  // Arm: percentages in steps of one, cache ids of the firmware, no cache that could be divided.
  const auto arm = info_of({"MB:1=100;65536=100\n", "", "", "1\n", "1\n"});
  REQUIRE(arm.has_value());
  CHECK(arm->caches.empty());
  CHECK(arm->bandwidth->scale == BandwidthScale::percent);
  CHECK(arm->bandwidth->ids == std::vector{1, 65536});

  const auto loop = info_of({"MB:0=4294967295\nL3:0=f\n", "f\n", "1\n", "10\n", "10\n"});
  REQUIRE(loop.has_value());
  CHECK(loop->bandwidth->scale == BandwidthScale::megabytes);

  const auto bare = info_of({"L3:0=f\n", "f\n", "", "", ""});
  REQUIRE(bare.has_value());
  CHECK_FALSE(bare->bandwidth);
  CHECK(bare->groups == 16);
}

TEST_CASE("Code and data may have caches of their own, and what is counted is said") {
  Tree tree;
  write(tree, {"L3DATA:0=ff\nL3CODE:0=ff\n", "", "", "", ""});
  for (const char* name : {"L3CODE", "L3DATA"}) {
    tree.write(fmt::format("sys/fs/resctrl/info/{}/cbm_mask", name), "ff\n");
    tree.write(fmt::format("sys/fs/resctrl/info/{}/num_closids", name), "7\n");
  }
  tree.write("sys/fs/resctrl/info/L3_MON/mon_features",
             "llc_occupancy\nmbm_total_bytes\nmbm_total_bytes_config\n");
  const auto info = read_resctrl_info(Root::below(tree.path()));
  REQUIRE(info.has_value());
  CHECK(info->caches.size() == 2);
  CHECK(info->groups == 7);
  CHECK(info->occupancy);
  CHECK(info->total_bytes);
  CHECK_FALSE(info->local_bytes);
}

TEST_CASE("What is not mounted is not there, and files that lie are named") {
  const Tree empty;
  const auto none = read_resctrl_info(Root::below(empty.path()));
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code() == Code::not_found);
  struct Row {
    Machine machine;
    const char* named;
  };
  const Row rows[] = {
      {{"L3:0=f\n", "0\n", "", "", ""}, "info/L3/cbm_mask"},
      {{"L3:0=f\n", "5\n", "", "", ""}, "info/L3/cbm_mask"},
      {{"L3:0=f\n", "ffff0000ffff0000f\n", "", "", ""}, "info/L3/cbm_mask"},
      {{"L3:0=f\n", "f\n", "many\n", "", ""}, "info/L3/min_cbm_bits"},
      {{"MB:0=100\n", "", "", "-10\n", "10\n"}, "info/MB/bandwidth_gran"},
      {{"MB:0=100\n", "", "", "10\n", "1e9\n"}, "info/MB/min_bandwidth"},
      {{"L3:0\n", "f\n", "", "", ""}, "schemata"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.named);
    const auto info = info_of(row.machine);
    REQUIRE_FALSE(info.has_value());
    CHECK(info.error().message().find(row.named) != std::string::npos);
  }
}

TEST_CASE("Random machines: what is read is what was written, ids with gaps and all") {
  std::mt19937 random(29);
  const auto between = [&](int least, int most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  for (int round = 0; round < 60; ++round) {
    std::vector<int> ids;
    for (int id = between(0, 3), n = between(1, 9); n > 0; --n, id += between(1, 70)) ids.push_back(id);
    const int parts = between(1, 20);
    const bool amd = between(0, 1) == 1;
    SchemataLine l3{"L3", {}}, mb{"MB", {}};
    for (const int id : ids) {
      l3.fields.push_back({id, (std::uint64_t{1} << parts) - 1});
      mb.fields.push_back({id, amd ? 2048u : 100u});
    }
    const auto info = info_of({fmt::format("{}{}", print_schemata(l3), print_schemata(mb)),
                               fmt::format("{:x}\n", (1u << parts) - 1), "1\n", amd ? "1\n" : "10\n",
                               amd ? "1\n" : "10\n"});
    REQUIRE(info.has_value());
    CHECK(info->caches.at(0).ids == ids);
    CHECK(info->bandwidth->ids == ids);
    CHECK((info->bandwidth->scale == BandwidthScale::units) == amd);
    const auto again = parse_schemata(print_schemata(l3));
    REQUIRE(again.has_value());
    CHECK(again->at(0) == l3);
  }
}
