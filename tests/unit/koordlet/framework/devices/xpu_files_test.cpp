// Files of accelerators that come, go, are half written, huge, somebody else's or no files at all.
#include "framework/devices/xpu_files.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kStart = MonoTime(1h);

std::string card(std::string_view uuid, int minor) {
  return fmt::format(R"({{"vendor":"huawei","model":"Ascend-910B","uuid":"{}","minor":"{}"}})", uuid, minor);
}
std::vector<std::string> ids(const DeviceReading& reading) {
  std::vector<std::string> all;
  std::ranges::transform(reading.devices, std::back_inserter(all), &api::DeviceInfo::id);
  return all;
}

struct Rig {
  testing::Tree tree{{"infos/", ""}};
  XpuFiles files{tree / "infos", kStart};
  Rig() { ::chmod((tree / "infos").c_str(), 0755); }
  void write(const std::string& name, const std::string& text) {
    tree.write("infos/" + name, text);
    ::chmod((tree / ("infos/" + name)).c_str(), 0644);
  }
  DeviceReading read(nanoseconds later = 0s) { return files.read(kStart + later); }
};

TEST_CASE("All files count, in the order of their names; a file that goes takes its devices with it") {
  Rig rig;
  rig.write("b", fmt::format("[{}]", card("two", 1)));
  rig.write("a", fmt::format("[{}]", card("one", 0)));
  rig.write(".hidden", "[");
  rig.tree.write("infos/ic-device-tmp/half", "[");
  CHECK(ids(rig.read()) == std::vector<std::string>{"one", "two"});
  CHECK(rig.read().problems.empty());
  rig.tree.remove("infos/a");
  CHECK(ids(rig.read()) == std::vector<std::string>{"two"});
  CHECK(rig.read().complete);
  rig.write("b", "null");
  CHECK(ids(rig.read()).empty());
  CHECK(rig.read().complete);
}

TEST_CASE("What cannot be read counts with what it said last; what never said anything is not complete") {
  struct Row {
    std::string_view what;
    std::function<void(Rig&)> spoil;
    std::string_view problem;
  };
  const Row rows[] = {
      {"half written", [](Rig& rig) { rig.write("a", R"([{"vendor":"huawei","uu)"); }, "infos/a: "},
      {"empty", [](Rig& rig) { rig.write("a", ""); }, "infos/a: "},
      {"an object", [](Rig& rig) { rig.write("a", card("one", 0)); },
       "infos/a: a list of devices is expected"},
      {"a wrong type", [](Rig& rig) { rig.write("a", R"([{"minor":0}])"); }, "infos/a: device 0: "},
      {"4 GB, sparse",
       [](Rig& rig) {
         rig.write("a", "[");
         std::filesystem::resize_file(rig.tree / "infos/a", 4ULL << 30);
       },
       "infos/a"},
      {"too many",
       [](Rig& rig) {
         std::string all;
         for (int i = 0; i < 1025; ++i) all += fmt::format("{}{{}}", i == 0 ? "[" : ",");
         rig.write("a", all + "]");
       },
       "infos/a: more than 1024 devices"},
      {"one that others may write", [](Rig& rig) { ::chmod((rig.tree / "infos/a").c_str(), 0666); },
       "infos/a"},
      {"a pipe without a writer",
       [](Rig& rig) {
         rig.tree.remove("infos/a");
         REQUIRE(::mkfifo((rig.tree / "infos/a").c_str(), 0644) == 0);
       },
       "infos/a"},
      {"a link to nowhere",
       [](Rig& rig) {
         rig.tree.remove("infos/a");
         std::filesystem::create_symlink("/nowhere/at/all", rig.tree / "infos/a");
       },
       "infos/a"},
      {"a folder that others may write", [](Rig& rig) { ::chmod((rig.tree / "infos").c_str(), 0777); },
       "infos"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig known, fresh;
    known.write("a", fmt::format("[{}]", card("one", 0)));
    REQUIRE(ids(known.read()) == std::vector<std::string>{"one"});
    fresh.write("a", fmt::format("[{}]", card("one", 0)));
    row.spoil(known);
    row.spoil(fresh);
    CHECK(ids(known.read()) == std::vector<std::string>{"one"});
    REQUIRE(known.read().problems.size() == 1);
    CHECK_THAT(known.read().problems[0], Catch::Contains(std::string(row.problem)));
    CHECK(ids(fresh.read(1h)).empty());
    CHECK_FALSE(fresh.read(1h).complete);
  }
}

TEST_CASE("Nothing there after a start is believed later: who writes may come up after the agent") {
  for (const bool folder : {true, false}) {
    INFO(folder);
    Rig rig;
    if (!folder) rig.tree.remove("infos");
    CHECK_FALSE(rig.read(4min).complete);
    CHECK(rig.read(4min).problems.empty());
    CHECK(rig.read(5min).complete);
  }
  Rig rig;  // what was there once and goes was taken away
  rig.write("a", fmt::format("[{}]", card("one", 0)));
  CHECK(rig.read(1min).complete);
  rig.tree.remove("infos/a");
  CHECK(rig.read(2min).complete);
  CHECK(ids(rig.read(2min)).empty());
}

TEST_CASE("More files than anybody has") {
  Rig rig;
  for (int i = 0; i < 70; ++i)
    rig.write(fmt::format("f{:02}", i), fmt::format("[{}]", card(fmt::format("d{}", i), i)));
  const DeviceReading reading = rig.read();
  CHECK(reading.devices.size() == 64);
  CHECK_FALSE(reading.complete);
  REQUIRE(reading.problems.size() == 1);
  CHECK_THAT(reading.problems[0], Catch::Contains("more than 64 files"));
}

}  // namespace
}  // namespace koord::koordlet
