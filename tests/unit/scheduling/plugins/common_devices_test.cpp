// CommonDevices: what is one GPU under two names, and who is told.
#include "scheduling/common_devices/common_devices.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

using koord::scheduling::CommonDevices;
using Gpus = CommonDevices::Gpus;
using Number = CommonDevices::Number;

namespace {

constexpr const char* kDriver = "gpu.example.test";
constexpr const char* kNics = "nic.example.test";

struct Told final : CommonDevices::Side {
  std::vector<std::string> nodes;
  void others_changed(std::string_view node) override { nodes.emplace_back(node); }
};

struct Rig {
  CommonDevices common;
  Told shares, claims;
  Rig() {
    common.set_shares_side(&shares);
    common.set_claims_side(&claims);
    common.list("n", {{.id = "GPU-0", .bus = "0000:3b:00.0"}, {.id = "GPU-1", .bus = "0000:86:00.0"}});
    common.offer("n", {by_id(0, "GPU-0"), by_id(1, "GPU-1")});
    shares.nodes.clear();
    claims.nodes.clear();
  }
  static CommonDevices::Offered by_id(Number number, std::string id, std::string driver = kDriver) {
    return {.number = number, .driver = std::move(driver), .ids = {std::move(id)}, .buses = {}};
  }
  static CommonDevices::Offered by_bus(Number number, std::string bus, std::string driver = kDriver) {
    return {.number = number, .driver = std::move(driver), .ids = {}, .buses = {std::move(bus)}};
  }
};

}  // namespace

TEST_CASE("A claim's device takes its GPU from DeviceShare, and gives it back") {
  Rig rig;
  rig.common.claim({.number = 1, .driver = kDriver, .node = "n"});
  CHECK(rig.common.claimed("n") == 0b10);
  CHECK(rig.common.claimed("other") == 0);
  CHECK(rig.shares.nodes == std::vector<std::string>{"n"});
  rig.common.claim({.number = 1, .driver = kDriver, .node = "n"});
  rig.common.release(1);
  CHECK(rig.common.claimed("n") == 0b10);
  rig.common.release(1);
  CHECK(rig.common.claimed("n") == 0);
  rig.common.release(1);  // more often than it was claimed
  CHECK(rig.shares.nodes == std::vector<std::string>{"n", "n"});
}

TEST_CASE("Some of a GPU takes all devices that are parts of it") {
  Rig rig;
  rig.common.offer("n", {Rig::by_id(0, "GPU-0"),
                         {.number = 2, .driver = kDriver, .ids = {"MIG-7", "GPU-0"}, .buses = {}},
                         Rig::by_id(1, "GPU-1")});
  rig.claims.nodes.clear();
  rig.common.share("n", 0b1, false);
  CHECK(rig.common.shared(0));
  CHECK(rig.common.shared(2));
  CHECK_FALSE(rig.common.shared(1));
  CHECK_FALSE(rig.common.shared(77));
  rig.common.share("n", 0b1, false);  // nothing new
  CHECK(rig.claims.nodes == std::vector<std::string>{"n"});
}

TEST_CASE("An address is the same however it is written") {
  struct Row {
    const char* device;
    const char* slice;
    bool same;
  };
  for (const Row& row : std::vector<Row>{{"0000:3b:00.0", "0000:3b:00.0", true},
                                         {"0000:3B:00.0", "0000:3b:00.0", true},
                                         {"00000000:3B:00.0", "0000:3b:00.0", true},
                                         {"0000:3b:00.0", "00000000:3B:00.0", true},
                                         {"00010000:3b:00.0", "0000:3b:00.0", false},
                                         {"0000:3b:00.0", "0000:3b:00.1", false},
                                         {"", "", false}}) {
    CAPTURE(row.device, row.slice);
    CommonDevices common;
    common.list("m", {{.id = "", .bus = row.device}});
    common.offer("m", {Rig::by_bus(5, row.slice)});
    common.share("m", 1, false);
    CHECK(common.shared(5) == row.same);
  }
}

TEST_CASE("Slices of another node never match") {
  Rig rig;
  rig.common.offer("m", {Rig::by_id(8, "GPU-0")});
  rig.common.claim({.number = 8, .driver = kDriver, .node = "m"});
  CHECK(rig.common.claimed("n") == 0);
}

TEST_CASE("A device that a claim has keeps its name when its slice goes") {
  Rig rig;
  rig.common.claim({.number = 0, .driver = kDriver, .node = "n"});
  rig.common.offer("n", {});
  CHECK(rig.common.claimed("n") == 0b1);
  rig.common.offer("n", {Rig::by_id(0, "GPU-0")});
  CHECK(rig.common.claimed("n") == 0b1);
  rig.common.offer("n", {});
  rig.common.release(0);
  CHECK(rig.common.claimed("n") == 0);
  rig.common.share("n", 0b1, false);
  CHECK_FALSE(rig.common.shared(0));  // the number may be another's by now
}

TEST_CASE("A device that no slice has told of takes all GPUs, if its driver is one of GPUs") {
  struct Row {
    const char* driver;
    Gpus claimed;
  };
  for (const Row& row : std::vector<Row>{{"gpu.example.test", ~Gpus{0}},
                                         {"example.test/GPUs", ~Gpus{0}},
                                         {"nic.example.test", 0},
                                         {"accel.example.test", ~Gpus{0}}}) {
    CAPTURE(row.driver);
    CommonDevices common;
    common.claim({.number = 3, .driver = row.driver, .node = "n"});
    common.list("n", {{.id = "GPU-0", .bus = ""}});
    // A driver is known by its devices elsewhere.
    common.list("m", {{.id = "GPU-9", .bus = ""}});
    common.offer("m", {Rig::by_id(9, "GPU-9", "accel.example.test")});
    CHECK(common.claimed("n") == row.claimed);
    CHECK(common.twice("n") == 0);
    // Its slice comes.
    common.offer("n", {Rig::by_id(3, "elsewhere", row.driver)});
    CHECK(common.claimed("n") == 0);
  }
}

TEST_CASE("Who has GPUs that no Device lists takes all devices of drivers of GPUs") {
  CommonDevices common;
  common.offer("n", {Rig::by_id(0, "GPU-0"), Rig::by_bus(1, "0000:01:00.0", kNics)});
  common.share("n", 0, true);
  CHECK(common.shared(0));
  CHECK_FALSE(common.shared(1));
  common.list("n", {{.id = "GPU-0", .bus = ""}});
  common.share("n", 0, false);
  CHECK_FALSE(common.shared(0));
}

TEST_CASE("What both have given is told, and that nobody can say what is the same") {
  Rig rig;
  rig.common.share("n", 0b11, false);
  CHECK(rig.common.twice("n") == 0);
  rig.common.claim({.number = 1, .driver = kDriver, .node = "n"});
  CHECK(rig.common.twice("n") == 0b10);
  CHECK_FALSE(rig.common.nameless("n"));
  rig.common.offer("n", {Rig::by_id(4, "0")});
  CHECK_FALSE(rig.common.nameless("n"));  // the claim's is known still
  rig.common.release(1);
  CHECK(rig.common.nameless("n"));
  rig.common.offer("n", {Rig::by_bus(5, "0000:01:00.0", kNics)});
  CHECK_FALSE(rig.common.nameless("n"));
}

namespace {

/// The same from what was told alone, without keeping anything but that.
struct Plainly {
  std::map<std::string, std::vector<CommonDevices::Gpu>> gpus;
  std::map<std::string, Gpus> shared;
  std::map<std::string, std::map<Number, std::string>> offered;  // ids
  std::multiset<Number> claims;
  std::map<Number, std::pair<std::string, std::string>> remembered;  // of claims': node and id

  Gpus is(const std::string& node, const std::string& id) {
    Gpus found = 0;
    for (std::size_t i = 0; i < gpus[node].size(); ++i)
      if (gpus[node][i].id == id) found |= Gpus{1} << i;
    return found;
  }
  void learn() {
    for (const auto& [node, devices] : offered)
      for (const auto& [number, id] : devices)
        if (claims.contains(number)) remembered[number] = {node, id};
    std::erase_if(remembered, [&](const auto& entry) { return !claims.contains(entry.first); });
  }
  Gpus claimed(const std::string& node) {
    Gpus found = 0;
    for (const auto& [number, of] : remembered)
      if (of.first == node) found |= is(node, of.second);
    return found;
  }
  bool is_shared(Number number) {
    for (const auto& [node, devices] : offered)
      if (const auto it = devices.find(number); it != devices.end())
        return (is(node, it->second) & shared[node]) != 0;
    const auto it = remembered.find(number);
    return it != remembered.end() &&
           (is(it->second.first, it->second.second) & shared[it->second.first]) != 0;
  }
};

}  // namespace

TEST_CASE("Whatever the order, the answers follow from what is") {
  std::mt19937 random(26);  // NOLINT(cert-msc32-c,cert-msc51-cpp): each run the same
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  CommonDevices common;
  Plainly plainly;
  const std::vector<std::string> nodes = {"a", "b", "c"};
  const auto id = [&](unsigned n) { return "id" + std::to_string(n); };
  std::size_t claimed = 0, shared = 0;
  for (int step = 0; step < 20000; ++step) {
    const std::string& node = nodes[below(3)];
    const Number number = below(12);
    switch (below(5)) {
      case 0: {
        std::vector<CommonDevices::Gpu> gpus;
        for (unsigned i = 0; i < below(5); ++i) gpus.push_back({.id = id(below(6)), .bus = ""});
        common.list(node, gpus);
        plainly.gpus[node] = gpus;
        break;
      }
      case 1: {
        const Gpus taken = below(16);
        common.share(node, taken, false);
        plainly.shared[node] = taken;
        break;
      }
      case 2: {
        std::vector<CommonDevices::Offered> devices;
        std::map<Number, std::string> kept;
        for (unsigned i = 0; i < below(5); ++i) kept[below(12)] = id(below(6));
        for (const auto& [each, its] : kept) {
          devices.push_back(Rig::by_id(each, its, kNics));
          for (auto& [other, of] : plainly.offered)
            if (other != node) of.erase(each);
        }
        common.offer(node, devices);
        plainly.offered[node] = kept;
        break;
      }
      case 3:
        // Only what some slice tells of: what is untold is in a case of its own.
        for (const auto& [other, of] : plainly.offered)
          if (of.contains(number)) {
            common.claim({.number = number, .driver = kNics, .node = node});
            plainly.claims.insert(number);
            break;
          }
        break;
      default:
        common.release(number);
        if (const auto it = plainly.claims.find(number); it != plainly.claims.end()) plainly.claims.erase(it);
    }
    plainly.learn();
    for (const std::string& each : nodes) {
      REQUIRE(common.claimed(each) == plainly.claimed(each));
      REQUIRE(common.twice(each) == (plainly.claimed(each) & plainly.shared[each]));
      claimed += common.claimed(each) != 0;
    }
    for (Number each = 0; each < 12; ++each) {
      REQUIRE(common.shared(each) == plainly.is_shared(each));
      shared += common.shared(each);
    }
  }
  CHECK(claimed > 1000);
  CHECK(shared > 1000);
}
