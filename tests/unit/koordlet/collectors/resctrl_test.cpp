// What classes of pods use of caches and of the memory's bandwidth: what ticks show, and as metrics.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/tick/resctrl_use.hpp"
#include "koord/api/koordinator/pod_resctrl.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using Bench = testing::SamplerRig;

const SamplerConfig kOn{.is_on = &testing::every_gate, .resctrl_interval = seconds(2), .resctrl = true};

void count(FakeNode& fake, const std::string& group, const std::string& cache, const std::string& held,
           const std::string& local, const std::string& total) {
  const std::string folder = fmt::format("sys/fs/resctrl/{}/mon_data/mon_L3_{}/", group, cache);
  fake.tree().write(folder + "llc_occupancy", held);
  fake.tree().write(folder + "mbm_local_bytes", local);
  fake.tree().write(folder + "mbm_total_bytes", total);
}
bool has(const Bench& bench, const std::string& line) {
  return bench.registry.exposition().find(line) != std::string::npos;
}

// TestResctrlReader, Test_collectQosResctrlStatNoErr: the same files; bandwidth is a difference here.
TEST_CASE("Caches and bandwidth by class, as the original's files have them") {
  FakeNode fake(CgroupVersion::v1);
  fake.tree().write("sys/fs/resctrl/schemata", "L3:0=f;8=f\n");
  fake.tree().write("sys/fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\n");
  count(fake, "LS", "00", "6144\n", "1000\n", "5000\n");
  count(fake, "LS", "08", "1", "0", "Unavailable\n");
  count(fake, "mon_groups/BE", "00", "77\n", "10\n", "10\n");
  count(fake, "gold", "00", "1\n", "1\n", "1\n");
  fake.tree().write("sys/fs/resctrl/LS/mon_data/mon_sub_L3_01/llc_occupancy", "1");
  fake.tree().write("sys/fs/resctrl/LS/mon_data/mon_L3_x/llc_occupancy", "1");
  Bench bench(fake, kOn);
  const auto now = inventory({});
  {
    const ResctrlUse& use = *bench.tick(now, seconds(0)).find<ResctrlUse>();
    CHECK(use.classes[0].empty());
    REQUIRE(use.classes[1].size() == 2);
    CHECK(use.classes[1][0].occupancy == 6144);
    CHECK_FALSE(known(use.classes[1][0].total));  // there is one reading
    CHECK(use.classes[1][1].id == 8);
    REQUIRE(use.classes[2].size() == 1);
    CHECK(use.classes[2][0].occupancy == 77);
    CHECK(use.reading == 1);
  }
  count(fake, "LS", "00", "6000", "3000", "9000");
  count(fake, "LS", "08", "1", "100", "200");
  count(fake, "mon_groups/BE", "00", "garbage", "5\n", "30\n");  // another group, which has counted less
  CHECK(bench.tick(now, seconds(1)).find<ResctrlUse>()->reading == 1);
  CHECK(*bench.sampler.view().age<ResctrlUse>() == seconds(1));
  {
    const ResctrlUse& use = *bench.tick(now, seconds(2)).find<ResctrlUse>();
    CHECK(use.classes[1][0].local == 1000);
    CHECK(use.classes[1][0].total == 2000);
    CHECK(use.classes[1][1].local == 50);
    CHECK_FALSE(known(use.classes[1][1].total));
    CHECK_FALSE(known(use.classes[2][0].occupancy));
    CHECK_FALSE(known(use.classes[2][0].local));
    CHECK(use.classes[2][0].total == 10);
  }
  CHECK(has(bench, "koordlet_resctrl_llc_occupancy{cache_id=\"0\",qos=\"LS\"} 6000"));
  CHECK(has(bench,
            "koordlet_resctrl_memory_bandwidth{cache_id=\"0\",qos=\"LS\",mb_type=\"mbm_total_bytes\"} 2000"));
  CHECK(has(bench,
            "koordlet_resctrl_memory_bandwidth{cache_id=\"8\",qos=\"LS\",mb_type=\"mbm_local_bytes\"} 50"));
  CHECK_FALSE(has(bench, "koordlet_resctrl_llc_occupancy{cache_id=\"0\",qos=\"BE\"}"));
  // A class' group goes, another one's comes.
  fake.tree().remove("sys/fs/resctrl/LS");
  count(fake, "BE", "00", "5", "1000", "1000");
  for (int i = 3; i < 7; ++i) bench.tick(now, seconds(i));
  CHECK_FALSE(has(bench, "qos=\"LS\""));
  count(fake, "BE", "00", "5", "1000", "3000");
  bench.tick(now, seconds(7));
  const ResctrlUse& use = *bench.tick(now, seconds(8)).find<ResctrlUse>();
  CHECK(use.classes[1].empty());
  REQUIRE(use.classes[2].size() == 1);
  CHECK(use.classes[2][0].total == 1000);
}

TEST_CASE("What pods' own groups move counts with their class, whatever comes and goes") {
  FakeNode fake(CgroupVersion::v2);
  fake.tree().write("sys/fs/resctrl/info/L3_MON/mon_features", "mbm_total_bytes\n");
  const auto own = [](const std::string& uid, Qos qos) {
    auto made = testing::pod(uid, qos);
    made->terms.put(std::make_shared<const api::PodResctrl>());
    return made;
  };
  const auto be = own("be", Qos::be), lse = own("lse", Qos::lse), far = own("far", Qos::ls);
  const auto moves = [&](const std::string& group, int bytes) {
    count(fake, group, "00", "1", "1", fmt::format("{}\n", bytes));
  };
  moves("BE", 1000);
  moves("koordlet-be", 5000);
  moves("koordlet-lse", 0);
  moves("koordlet-other", 7);  // of nobody
  Bench bench(fake, kOn);
  const auto now = inventory({be, lse, far});
  CHECK(bench.tick(now, seconds(0)).find<ResctrlUse>()->own_unread == 3);  // there is one reading
  moves("BE", 3000);
  moves("koordlet-be", 9000);
  moves("koordlet-lse", 600);
  bench.tick(now, seconds(1));
  {
    const ResctrlUse& use = *bench.tick(now, seconds(2)).find<ResctrlUse>();
    CHECK(use.own_groups == 3);
    CHECK(use.own_unread == 1);
    CHECK(use.total_of(2, 0) == 3000);
    CHECK(use.total_of(0, 0) == 300);  // the class has no group
    CHECK_FALSE(known(use.total_of(1, 0)));
    CHECK_FALSE(known(use.total_of(2, 1)));
  }
  // One that cannot be read is not counted; what the class' group moves is not known without it.
  count(fake, "koordlet-be", "00", "1", "1", "Unavailable\n");
  moves("BE", 3200);
  bench.tick(now, seconds(3));
  CHECK(bench.tick(now, seconds(4)).find<ResctrlUse>()->total_of(2, 0) == 100);
  fake.tree().remove("sys/fs/resctrl/koordlet-be");
  count(fake, "BE", "00", "1", "1", "half of it");
  bench.tick(now, seconds(5));
  CHECK_FALSE(known(bench.tick(now, seconds(6)).find<ResctrlUse>()->total_of(2, 0)));
  const auto after = inventory({lse});
  moves("koordlet-lse", 4600);
  bench.tick(after, seconds(7));
  const ResctrlUse& use = *bench.tick(after, seconds(8)).find<ResctrlUse>();
  CHECK(use.own_groups == 1);
  CHECK(use.total_of(0, 0) == 2000);
}

TEST_CASE("Without the flag, or without the gate, classes are not counted") {
  FakeNode fake(CgroupVersion::v2);
  count(fake, "LS", "00", "6144", "1000", "5000");
  Bench off(fake, {.is_on = &testing::every_gate});
  CHECK(off.tick(inventory({}), seconds(0)).find<ResctrlUse>() == nullptr);
  Bench gate(fake, {.resctrl = true});
  CHECK(gate.tick(inventory({}), seconds(0)).find<ResctrlUse>() == nullptr);
  Bench none(fake, kOn);  // the machine counts nothing, which is said
  bool told = false;
  for (const Availability& one : none.sampler.availability())
    told = told || (one.name == "resctrl" && !one.works);
  CHECK(told);
}

}  // namespace
}  // namespace koord::koordlet
