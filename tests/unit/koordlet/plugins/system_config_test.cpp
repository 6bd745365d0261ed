// System configuration, with the original's rows: settings of the whole machine, and how they go back.
#include <catch2/catch.hpp>

#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using testing::QosRig;

constexpr std::string_view kFree = "/sim/proc/sys/vm/min_free_kbytes",
                           kScale = "/sim/proc/sys/vm/watermark_scale_factor",
                           kReap = "/sim/sys/kernel/mm/memcg_reaper/reap_background",
                           kIdentity = "/sim/proc/sys/kernel/sched_group_identity_enabled",
                           kIdle = "/sim/proc/sys/kernel/sched_idle_saver_wmark",
                           kCache = "/sim/sys/kernel/mm/pagecache_limit/enabled",
                           kFeatures = "/sim/sys/kernel/debug/sched_features";
constexpr std::int64_t kMemory = std::int64_t{512} << 30;

class Rig : public QosRig {
 public:
  explicit Rig(std::string journal = {}) : QosRig(host::CgroupVersion::v2, std::move(journal)) {
    REQUIRE(gates.set("SystemConfig=true").has_value());
    inventory.node.capacity_memory = kMemory;
    kernel.settings = {{std::string(kFree), "5368709\n"},
                       {std::string(kScale), "150\n"},
                       {std::string(kReap), "0\n"},
                       {std::string(kIdentity), "1\n"},
                       {std::string(kIdle), "0\n"},
                       {std::string(kCache), "0\n"},
                       {std::string(kFeatures), "START_DEBIT NO_HRTICK ID_EXPELLER_SHARE_CORE\n"}};
    start();
  }
  api::SystemStrategy& slo() {
    auto spec = std::make_shared<api::NodeSloSpec>();
    auto& strategy = spec->system_strategy.emplace();
    inventory.slo = spec;
    return strategy;
  }
  std::string now(std::string_view file) { return kernel.settings.find(file)->second; }
};

TEST_CASE("Settings of the machine are what the NodeSLO says, if they are in range", "[koordlet][system]") {
  struct Row {
    std::optional<std::int64_t> factor, scale, reap;
    std::string free, scaled, reaps;
  };
  const std::string as_found = "5368709\n";
  const Row rows[] = {
      {{}, {}, {}, as_found, "150\n", "0\n"},      {-1, -1, -1, as_found, "150\n", "0\n"},
      {0, 5, -1, as_found, "150\n", "0\n"},        {88, 99, 1, "4724464", "99", "1"},
      {400, 500, 2, as_found, "150\n", "0\n"},     {{}, 10, {}, as_found, "10", "0\n"},
      {INT64_MAX, 400, 0, as_found, "400", "0\n"},
  };
  for (const Row& row : rows) {
    Rig rig;
    auto& slo = rig.slo();
    slo.min_free_kbytes_factor = row.factor;
    slo.watermark_scale_factor = row.scale;
    slo.memcg_reap_back_ground = row.reap;
    rig.tick(1);
    CHECK(rig.now(kFree) == row.free);
    CHECK(rig.now(kScale) == row.scaled);
    CHECK(rig.now(kReap) == row.reaps);
  }
}

TEST_CASE("A kernel that is short of memory drops the names of its settings: what was found first goes back",
          "[koordlet][system]") {
  koord::testing::Tree tree;
  const std::string journal = tree / "journal";
  const bool restarted = GENERATE(false, true);
  auto rig = std::make_unique<Rig>(journal);
  rig->slo().watermark_scale_factor = 99;
  rig->tick(1);
  for (int i = 0; i < 30; ++i) {
    ++rig->kernel.proc_inode;
    rig->tick(1);
    if (restarted && i == 15) rig->start();
  }
  CHECK(rig->now(kScale) == "99");
  REQUIRE(rig->manager->cleanup(rig->inventory).has_value());
  CHECK(rig->now(kScale) == "150");
}

TEST_CASE("The scheduler's settings, one feature at a time", "[koordlet][system]") {
  Rig rig;
  auto& slo = rig.slo();
  slo.sched_group_identity_enabled = 0;
  slo.sched_idle_saver_wmark = 5'000'000;
  slo.page_cache_limit_enabled = 1;
  slo.sched_features["ID_EXPELLER_SHARE_CORE"] = false;
  slo.sched_features["HRTICK"] = true;
  slo.sched_features["START_DEBIT"] = true;
  slo.sched_features["NOT_OF_THIS_KERNEL"] = true;
  slo.sched_features["../../x y"] = true;
  rig.tick(1);
  CHECK(rig.now(kIdentity) == "0");
  CHECK(rig.now(kIdle) == "5000000");
  CHECK(rig.now(kCache) == "1");
  CHECK(rig.now(kFeatures) == "START_DEBIT HRTICK NO_ID_EXPELLER_SHARE_CORE\n");
  // What is as it should be is neither written nor read again.
  const auto written = rig.kernel.written.size();
  for (int i = 0; i < 5; ++i) rig.tick(1);
  CHECK(rig.kernel.written.size() == written);
}

TEST_CASE("What nobody says any more goes back to what was found, over a crash as well",
          "[koordlet][system][crash]") {
  koord::testing::Tree tree;
  Rig rig(tree / "journal");
  auto& slo = rig.slo();
  slo.watermark_scale_factor = 99;
  slo.sched_features["HRTICK"] = true;
  rig.tick(1);
  REQUIRE(rig.now(kScale) == "99");
  if (GENERATE(true, false)) rig.start();
  SECTION("one of them") {
    rig.slo().watermark_scale_factor = 99;
    rig.tick(1);
    rig.tick(1);
    CHECK(rig.now(kScale) == "99");
  }
  SECTION("no NodeSLO") {
    rig.inventory.slo.reset();
    rig.tick(1);
    CHECK(rig.now(kScale) == "150");
  }
  SECTION("--cleanup") {
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
    CHECK(rig.now(kScale) == "150");
  }
  CHECK(rig.now(kFeatures) == "START_DEBIT NO_HRTICK ID_EXPELLER_SHARE_CORE\n");
}

TEST_CASE("A node whose memory is not known keeps what it has; a kernel without a setting costs nothing",
          "[koordlet][system]") {
  Rig rig;
  rig.slo().watermark_scale_factor = 99;
  rig.kernel.settings.erase(std::string(kReap));
  rig.tick(1);
  rig.slo().memcg_reap_back_ground = 1;
  rig.inventory.node.capacity_memory = 0;
  rig.tick(1);
  CHECK(rig.now(kScale) == "99");
  rig.inventory.node.capacity_memory = kMemory;
  rig.slo().memcg_reap_back_ground = 1;
  for (int i = 0; i < 20; ++i) rig.tick(1);
  CHECK(rig.now(kScale) == "150");
  const auto calls = rig.kernel.calls();
  rig.tick(1);
  CHECK(rig.kernel.calls() - calls <= 1);
}

}  // namespace
}  // namespace koord::koordlet
