// Idle page tracking of a sample: what is cold of a fake kernel's memory, and what the collector makes of it.
#include "collectors/cold_pages/idle_pages.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <vector>

#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using testing::pod;

constexpr std::size_t kFrames = 4096;
constexpr std::uint64_t kOnList = 1ULL << 5, kSwapBacked = 1ULL << 14, kHead = 1ULL << 15, kTail = 1ULL << 16;
constexpr std::string_view kZones =
    "Node 0, zone      DMA\n  pages free     9\n        boost    0\n        spanned  1024\n        present  "
    "998\n"
    "  start_pfn:           0\nNode 0, zone   Normal\n  pages free     7\n        spanned  3072\n"
    "      protection: (0, 0)\n  start_pfn:           1024\n";

std::string bytes_of(const std::vector<std::uint64_t>& words) {
  std::string text(words.size() * sizeof(std::uint64_t), 0);
  std::memcpy(text.data(), words.data(), text.size());
  return text;
}

/// Files of a kernel whose marks nobody takes away but the test.
struct Kernel {
  explicit Kernel(koord::testing::Tree& files) : tree(files) {
    tree.write("proc/zoneinfo", std::string(kZones));
    use_all();
    write();
  }
  void use_all() { tree.write("sys/kernel/mm/page_idle/bitmap", std::string(kFrames / 8, 0)); }
  void write() {
    tree.write("proc/kpageflags", bytes_of(flags));
    tree.write("proc/kpagecgroup", bytes_of(groups));
  }
  host::Root root() const { return host::Root::below(tree.path()); }

  koord::testing::Tree& tree;
  std::vector<std::uint64_t> flags = std::vector<std::uint64_t>(kFrames), groups = flags;
};

void run(
    IdlePages& pages, MonoTime& now, int ticks, const std::function<void()>& before = [] {}) {
  for (int i = 0; i < ticks; ++i) {
    before();
    REQUIRE(pages.tick(now += seconds(1)).has_value());
  }
}

TEST_CASE("Frames that there may be, as the kernel says its zones") {
  using Zones = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  CHECK(page_frames(kZones) == Zones{{0, 1024}, {1024, 3072}});
  CHECK(page_frames("Node 1, zone Movable\n spanned 0\n start_pfn: 77\n").empty());
  for (const std::string_view text : {"", "spanned", "start_pfn: 5\n", "Node 0\n spanned x\n start_pfn: 1\n",
                                      "Node 0\n spanned 99999999999999999999999\n start_pfn: 1\n",
                                      "Node 0\n spanned 9223372036854775807\n"})
    CHECK(page_frames(text).empty());
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "Node 0\nspanned 1\nstart_pfn: 1\n";
  CHECK(page_frames(many).size() == 4096);
}

TEST_CASE("What nobody used for five minutes is cold, by cgroup, as a sample tells") {
  koord::testing::Tree tree;
  Kernel kernel(tree);
  for (std::size_t i = 0; i < 1024; ++i) {
    kernel.flags[i] = kOnList;
    kernel.groups[i] = 11;
    kernel.flags[1024 + i] = kOnList | kSwapBacked;  // anonymous
    kernel.groups[1024 + i] = 12;
    kernel.groups[2048 + i] = 13;  // on no list: the kernel's own
  }
  kernel.write();
  auto pages = IdlePages::open(kernel.root(), 4096, 1);
  REQUIRE(pages.has_value());
  MonoTime now{};
  run(*pages, now, 590);
  CHECK_FALSE(pages->known());
  run(*pages, now, 20);
  REQUIRE(pages->known());
  CHECK(pages->cold(11) == Approx(1024 * 4096).epsilon(0.15));
  CHECK(pages->cold(12) == 0);
  CHECK(pages->cold(13) == 0);
  CHECK(pages->cold(14) == 0);
  CHECK(pages->cold() == pages->cold(11));
  // All are used again and again.
  run(*pages, now, 601, [&] { kernel.use_all(); });
  CHECK(pages->cold() == 0);
  CHECK(pages->cold(11) == 0);
}

TEST_CASE("What is used within five minutes is not cold, however small the memory is") {
  koord::testing::Tree tree;
  Kernel kernel(tree);
  kernel.flags.assign(kFrames, kOnList);
  kernel.groups.assign(kFrames, 11);
  kernel.write();
  auto pages = IdlePages::open(kernel.root(), 4096, 1);
  REQUIRE(pages.has_value());
  MonoTime now{};
  int ticks = 0;
  run(*pages, now, 700, [&] {
    if (++ticks % 150 == 0) kernel.use_all();
  });
  CHECK(pages->known());
  CHECK(pages->cold() == 0);
}

TEST_CASE("Of a large folio the first page counts for all") {
  koord::testing::Tree tree;
  Kernel kernel(tree);
  for (std::size_t i = 0; i < kFrames; ++i) {
    kernel.flags[i] = kOnList | (i % 256 == 0 ? kHead : kTail);
    kernel.groups[i] = 11;
  }
  kernel.write();
  auto pages = IdlePages::open(kernel.root(), 4096, 1);
  REQUIRE(pages.has_value());
  MonoTime now{};
  run(*pages, now, 610);
  CHECK(pages->cold(11) == Approx(kFrames * 4096).epsilon(0.15));
}

TEST_CASE("A kernel that does not track idle pages is named; files that end early have no pages there") {
  for (const std::string_view gone :
       {"sys/kernel/mm/page_idle/bitmap", "proc/kpageflags", "proc/kpagecgroup", "proc/zoneinfo"}) {
    koord::testing::Tree tree;
    const Kernel kernel(tree);
    tree.remove(std::string(gone));
    const auto pages = IdlePages::open(kernel.root(), 4096, 1);
    REQUIRE_FALSE(pages.has_value());
    CHECK(pages.error().message().find(gone) != std::string::npos);
  }
  koord::testing::Tree tree;
  Kernel kernel(tree);
  tree.write("proc/kpageflags", "half");
  tree.write("proc/kpagecgroup", "");
  auto pages = IdlePages::open(kernel.root(), 4096, 1);
  REQUIRE(pages.has_value());
  MonoTime now{};
  run(*pages, now, 700);
  CHECK(pages->cold() == 0);
  // A tick that comes late looks at all that is due.
  now += std::chrono::hours(1);
  run(*pages, now, 2);
  CHECK(pages->known());
}

TEST_CASE("Without kidled cold pages are those of the sample, where that is wanted") {
  FakeNode fake(host::CgroupVersion::v2);
  Kernel kernel(fake.tree());
  const auto a = pod("a", Qos::ls, 1);
  const std::string group = a->containers[0].group;
  fake.cpu(group, 0);
  fake.group_memory(group, 0, 64ULL << 20);
  struct stat folder {};
  REQUIRE(::stat((fake.tree() / fake.path("", group, "")).c_str(), &folder) == 0);
  for (std::size_t i = 0; i < kFrames; ++i) {
    kernel.flags[i] = kOnList;
    kernel.groups[i] = i < kFrames / 2 ? folder.st_ino : 1;
  }
  kernel.write();
  const auto now = inventory({a});
  const auto works = [](const testing::SamplerRig& bench) {
    for (const Availability& one : bench.sampler.availability())
      if (one.name == "cold_pages") return one.works;
    return false;
  };
  testing::SamplerRig off(fake, {.is_on = &testing::every_gate});
  off.tick(now, seconds(0));
  CHECK_FALSE(works(off));

  testing::SamplerRig bench(fake, {.is_on = &testing::every_gate, .idle_pages = true, .page_size = 4096});
  bench.tick(now, seconds(0));
  CHECK(works(bench));
  const auto shown = [&](std::string_view metric) {
    const std::string text = bench.registry.exposition();
    const std::size_t at = text.find(metric);
    return at == std::string::npos ? -1.0 : std::stod(text.substr(text.find("} ", at) + 2));
  };
  CHECK(shown("koordlet_node_memory_cold_page_size{") == -1);
  for (int i = 1; i < 620; ++i) bench.tick(now, seconds(i));
  CHECK(shown("koordlet_node_memory_cold_page_size{") == Approx(kFrames * 4096));
  CHECK(shown("koordlet_pod_memory_cold_page_size{") == Approx(kFrames / 2 * 4096).epsilon(0.1));
  CHECK(shown("koordlet_container_memory_cold_page_size{") == Approx(kFrames / 2 * 4096).epsilon(0.1));
  bench.tick(inventory({}), seconds(620));
  CHECK(shown("koordlet_pod_memory_cold_page_size{") == -1);
}

}  // namespace
}  // namespace koord::koordlet
