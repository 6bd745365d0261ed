// Checkpoints of the series: what was measured before a restart is there after it, at its true age.
#include "framework/series/checkpoint.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "koord/host/file.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kTicks = 3600;
const MonoTime kStart{hours(10)};
const WallTime kWall{hours(480'000)};
MonoTime at(int tick) { return kStart + seconds(tick); }
CheckpointStamp stamp(MonoTime mono, WallTime wall, std::string_view boot = "boot-1") {
  return {mono, wall, boot};
}

/// An hour of a node and two pods; the second came 100 ticks before the end.
void fill(SeriesStore& store) {
  const SeriesId node = *store.open(Metric::node_cpu, "");
  const SeriesId numa = *store.open(Metric::node_numa_memory, "1");
  const SeriesId pod = *store.open(Metric::pod_cpu, "uid-1");
  const SeriesId late = *store.open(Metric::pod_cpu, "uid-2");
  for (int i = 0; i < kTicks; ++i) {
    store.append(node, at(i), i);
    store.append(numa, at(i), 1e9);
    if (i % 2 == 0) store.append(pod, at(i), i);
    if (i >= kTicks - 100) store.append(late, at(i), 7);
  }
}

std::string checkpoint() {
  SeriesStore store({});
  fill(store);
  std::string bytes;
  store.save(stamp(at(kTicks - 1), kWall), minutes(5), bytes);
  return bytes;
}

std::string with_sum(std::string bytes) {
  const std::uint64_t sum = checkpoint_sum(std::string_view(bytes).substr(0, bytes.size() - sizeof(sum)));
  std::memcpy(bytes.data() + bytes.size() - sizeof(sum), &sum, sizeof(sum));
  return bytes;
}

TEST_CASE("What was measured survives a restart") {
  SeriesStore store({});
  const MonoTime now = at(kTicks + 20);
  REQUIRE(*store.restore(checkpoint(), stamp(now, kWall + seconds(21))) == 4);

  const auto node = store.aggregate(Metric::node_cpu, "", now, minutes(10));
  REQUIRE(node.has_value());
  CHECK(node->last == kTicks - 1);
  CHECK(node->count == 600 - 21);
  CHECK(node->span == seconds(600 - 22));
  CHECK(store.aggregate(Metric::node_numa_memory, "1", now, minutes(30))->avg == 1e9);
  // Of a pod only the last five minutes are kept; its holes are still holes.
  CHECK(store.aggregate(Metric::pod_cpu, "uid-1", now, minutes(30))->count == 150);
  CHECK(store.aggregate(Metric::pod_cpu, "uid-2", now, minutes(30))->count == 100);
  // The minutes, too.
  CHECK(store.aggregate(Metric::node_cpu, "", now, hours(2))->count == kTicks);

  // Measuring goes on.
  const SeriesId id = *store.open(Metric::node_cpu, "");
  store.append(id, now, 1);
  CHECK(store.aggregate(id, now, minutes(10))->count == 600 - 20);
  // A pod that has gone in the meantime is closed; one that was found again stays.
  REQUIRE(store.open(Metric::pod_cpu, "uid-2").has_value());
  store.close_unclaimed();
  CHECK(store.size() == 2);
  CHECK(store.find(Metric::pod_cpu, "uid-2"));
}

TEST_CASE("Ages are true, whatever the clocks did") {
  struct Row {
    const char* what;
    CheckpointStamp now;
    std::size_t in_ten_minutes;  // 0: nothing
  };
  const MonoTime last = at(kTicks - 1);
  const Row rows[] = {
      {"at once", stamp(last, kWall), 600},
      {"the wall clock jumped ahead, but it is the same boot", stamp(last + seconds(60), kWall + hours(48)),
       540},
      {"the wall clock went back, but it is the same boot", stamp(last + seconds(60), kWall - hours(48)),
       540},
      {"rebooted for two minutes", stamp(MonoTime(seconds(30)), kWall + seconds(120), "boot-2"), 480},
      {"away for a day", stamp(last + hours(24), kWall + hours(24)), 0},
      {"rebooted, a day", stamp(MonoTime(seconds(30)), kWall + hours(24), "boot-2"), 0},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    SeriesStore store({});
    REQUIRE(store.restore(checkpoint(), row.now).has_value());
    const auto got = store.aggregate(Metric::node_cpu, "", row.now.mono, minutes(10));
    CHECK((got ? got->count : 0) == row.in_ten_minutes);
  }
  SeriesStore store({});
  const auto future = store.restore(checkpoint(), stamp(MonoTime(seconds(1)), kWall - seconds(5), "boot-2"));
  REQUIRE_FALSE(future.has_value());
  CHECK(future.error().code() == Code::invalid);
}

TEST_CASE("A store with a shorter window takes what fits") {
  SeriesStore store({.window = minutes(2), .digest_window = minutes(10), .max_series = 3});
  REQUIRE(*store.restore(checkpoint(), stamp(at(kTicks - 1), kWall)) == 3);
  CHECK(store.aggregate(Metric::node_cpu, "", at(kTicks - 1), minutes(2))->count == 120);
  CHECK(store.aggregate(Metric::node_cpu, "", at(kTicks - 1), minutes(10))->count <= 660);
}

TEST_CASE("Truncated and garbled checkpoints restore nothing") {
  const std::string good = checkpoint();
  const CheckpointStamp now = stamp(at(kTicks), kWall + seconds(1));
  for (std::size_t size = 0; size < good.size(); size += size < 200 ? 1 : 997) {
    SeriesStore store({});
    REQUIRE_FALSE(store.restore(std::string_view(good).substr(0, size), now).has_value());
    REQUIRE(store.size() == 0);
  }
  for (std::size_t i = 0; i < good.size(); i += i < 200 ? 1 : 499) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    SeriesStore store({});
    REQUIRE_FALSE(store.restore(bad, now).has_value());
    // With a sum that fits it may be read, but never out of bounds; and then all or nothing.
    SeriesStore again({});
    if (!again.restore(with_sum(bad), now)) REQUIRE(again.size() == 0);
  }
  std::string newer = good;
  newer[8] = 2;
  SeriesStore store({});
  const auto got = store.restore(with_sum(newer), now);
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().message().find("version 2") != std::string::npos);
  // The store is as new, but only once.
  CHECK(store.restore(good, now).has_value());
  CHECK(store.restore(good, now).error().code() == Code::internal);
  CHECK(store.size() == 4);
}

TEST_CASE("The file is replaced whole") {
  testing::Tree tree;
  const std::string path = tree / "series";
  const CheckpointStamp now = stamp(at(kTicks), kWall + seconds(1));
  SeriesStore none({});
  CHECK(*read_checkpoint(path, now, none) == 0);
  REQUIRE(write_checkpoint(path, "old").has_value());
  REQUIRE(write_checkpoint(path, checkpoint()).has_value());
  CHECK(*read_checkpoint(path, now, none) == 4);
  CHECK(host::list_folder(tree.path())->size() == 1);

  SeriesStore other({});
  tree.write("series", "koordser and then something else");
  const auto bad = read_checkpoint(path, now, other);
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().message().find(path) != std::string::npos);
  CHECK_FALSE(write_checkpoint(tree / "no/such/folder", "x").has_value());
}

}  // namespace
}  // namespace koord::koordlet
