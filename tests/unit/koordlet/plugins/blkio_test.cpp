// Block I/O, with the original's rows: limits of groups and costs of disks in both cgroup versions, how they
// go back, and blocks that cannot be found.
#include <catch2/catch.hpp>

#include <map>
#include <random>

#include "framework/model/claim_volumes.hpp"
#include "framework/tick/local_storage.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins/blkio/limits.hpp"
#include "plugins/blkio/terms.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"

namespace koord::koordlet {

extern const StrategyEntry kBlkIo;

namespace {

using host::CgroupVersion;
using testing::QosRig;

constexpr const char* kPod = "kubepods/besteffort/podp0";
constexpr const char* kV1Files[] = {"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device",
                                    "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
                                    "blkio.cost.weight"};
constexpr const char* kV2Files[] = {"io.max", "io.weight", "io.latency"};

/// What upstream's test has of NodeSLO; its disks are vda (253:0) and vdb (253:16, with yoda-pool0).
constexpr std::string_view kSlo = R"({"resourceQOSStrategy":{
  "lsrClass":{"blkioQOS":{"enable":true,"blocks":[{"name":"/dev/vdc","type":"device","ioCfg":{"ioWeightPercent":100}}]}},
  "lsClass":{"blkioQOS":{"enable":true,"blocks":[{"name":"/dev/vdd","type":"device","ioCfg":{"ioWeightPercent":100}}]}},
  "beClass":{"blkioQOS":{"enable":true,"blocks":[{"name":"yoda-pool0","type":"volumegroup","ioCfg":{
    "ioWeightPercent":40,"readIOPS":1024,"writeIOPS":1024,"readBPS":1048576,"writeBPS":1048576}}]}},
  "cgroupRoot":{"blkioQOS":{"enable":true,"blocks":[{"name":"/dev/vdb","type":"device","ioCfg":{
    "readLatency":1000,"writeLatency":1000,"readLatencyPercent":90,"writeLatencyPercent":90,"enableUserModel":true,
    "modelReadBPS":3324911720,"modelWriteBPS":2765819289,"modelReadSeqIOPS":168274,"modelWriteSeqIOPS":367565,
    "modelReadRandIOPS":352545,"modelWriteRandIOPS":339390}}]}}}})";

api::Pod pod_of(std::string_view annotation, std::string_view volumes) {
  api::Pod pod;
  pod.metadata.name = "p0";
  pod.metadata.annotations[api::PodBlkioQos::kAnnotation] = Symbol(annotation);
  auto spec = api::decode<api::PodSpec>(fmt::format(R"({{"volumes":[{}]}})", volumes));
  REQUIRE(spec.has_value());
  pod.spec = std::move(*spec);
  return pod;
}

constexpr const StrategyEntry* kOnly[] = {&kBlkIo};

class Rig : public QosRig {
 public:
  explicit Rig(CgroupVersion version, std::string journal = {}) : QosRig(version, std::move(journal)) {
    strategies = kOnly;
    REQUIRE(gates.set("BlkIOReconcile=true").has_value());
    const bool v2 = version == CgroupVersion::v2;
    for (const char* group : {testing::kBeRoot, kPod})
      if (v2)
        for (const char* file : kV2Files) kernel.group(group).files[file] = "";
      else
        for (const char* file : kV1Files) kernel.group(group).files[file] = "";
    for (const char* file : {"cost.qos", "cost.model"})
      kernel.group("").files[fmt::format("{}.{}", v2 ? "io" : "blkio", file)] = "";
    storage.version = 1;
    storage.devices = host::BlockDevices({{.name = "vda", .number = {253, 0}},
                                          {.name = "vdb", .number = {253, 16}},
                                          {.name = "vda1", .number = {253, 1}, .disk = "vda"},
                                          {.name = "vdb1", .number = {253, 17}, .disk = "vdb"},
                                          {.name = "dm-0",
                                           .number = {252, 0},
                                           .mapper_name = "yoda--pool0-yoda--test1",
                                           .volume_group = "yoda-pool0",
                                           .over = {"vdb1"}}});
    storage.volumes = {{.pod = "p0", .volume = "html", .number = {252, 0}, .source = "/dev/dm-0"},
                       {.pod = "p0", .volume = "pv-1", .number = {252, 0}, .source = "/dev/dm-0"}};
    shape = [this](TickView& view) {
      if (shown) view.slots.show(&storage, view.at);
    };
    say(R"({"resourceQOSStrategy":{}})");
    start();
  }
  void say(std::string_view slo) {
    auto spec = api::decode<api::NodeSloSpec>(slo);
    REQUIRE(spec.has_value());
    inventory.slo = std::make_shared<const api::NodeSloSpec>(std::move(*spec));
    ++inventory.generation;
  }
  /// One pod that says so; the warnings that it gets.
  std::vector<std::string> pod(std::string_view annotation,
                               std::string_view volumes = R"({"name":"html","csi":{}})", Qos qos = Qos::be,
                               PodPhase phase = PodPhase::running) {
    std::vector<std::string> warnings;
    auto info = std::make_shared<PodInfo>();
    info->uid = info->name = "p0";
    info->ns = "default";
    info->qos = qos;
    info->phase = phase;
    info->group = kPod;
    read_block_terms(pod_of(annotation, volumes), info->terms, warnings);
    inventory.pods = {info};
    pod_usage = {{}};
    ++inventory.generation;
    return warnings;
  }
  const std::string& file(const std::string& group, const std::string& name) {
    return kernel.group(group).files.at(name);
  }
  /// "FILE: LINES" of all that is not empty.
  std::string all() {
    std::string text;
    for (const auto& [name, group] : kernel.groups())
      for (const auto& [file, content] : group.files)
        if (!content.empty()) text += fmt::format("{} {}: {}", name, file, content);
    return text;
  }
  LocalStorage storage;
  bool shown = true;
};

constexpr std::string_view kPodSays =
    R"({"blocks":[{"name":"html","type":"podvolume","iocfg":{"readIOPS":1024,"writeIOPS":512}}]})";

TEST_CASE("The original's NodeSLO and pod, in cgroup v1 as it writes them", "[koordlet][blkio]") {
  Rig rig(CgroupVersion::v1);
  rig.say(kSlo);
  CHECK(rig.pod(kPodSays).empty());
  rig.tick(1);
  const std::string be = testing::kBeRoot;
  CHECK(rig.file(be, kV1Files[0]) == "253:16 1024\n");
  CHECK(rig.file(be, kV1Files[1]) == "253:16 1024\n");
  CHECK(rig.file(be, kV1Files[2]) == "253:16 1048576\n");
  CHECK(rig.file(be, kV1Files[3]) == "253:16 1048576\n");
  CHECK(rig.file(be, kV1Files[4]) == "253:16 40\n");
  CHECK(rig.file(kPod, kV1Files[0]) == "253:16 1024\n");
  CHECK(rig.file(kPod, kV1Files[1]) == "253:16 512\n");
  for (int i = 2; i < 5; ++i) CHECK(rig.file(kPod, kV1Files[i]).empty());
  CHECK(rig.file("", "blkio.cost.qos") ==
        "253:16 enable=1 ctrl=user rpct=90.00 rlat=1000 wpct=90.00 wlat=1000 min=1.00 max=10000.00\n");
  CHECK(rig.file("", "blkio.cost.model") ==
        "253:16 ctrl=user model=linear rbps=3324911720 rseqiops=168274 rrandiops=352545 wbps=2765819289 "
        "wseqiops=367565 wrandiops=339390\n");
  CHECK(rig.report("BlkIOReconcile").status.summary ==
        "9 settings of 2 groups, costs of 1 disks; 1 problems: lsrClass and lsClass have no group of their "
        "own: "
        "limits of block I/O are for beClass, cgroupRoot and pods");
  // What is as it should be is written once, whatever the kernel made of the text.
  const auto written = rig.kernel.written.size();
  CHECK(written == 9);
  for (int i = 0; i < 150; ++i) rig.tick(1);
  CHECK(rig.kernel.written.size() == written);
}

TEST_CASE("The same in cgroup v2: io.max, io.weight, io.cost", "[koordlet][blkio]") {
  Rig rig(CgroupVersion::v2);
  rig.say(kSlo);
  CHECK(rig.pod(R"({"blocks":[{"name":"html","type":"podvolume","ioCfg":{"readIOPS":1024,"writeIOPS":0}}]})")
            .empty());
  rig.tick(1);
  CHECK(rig.file(testing::kBeRoot, "io.max") == "253:16 rbps=1048576 wbps=1048576 riops=1024 wiops=1024\n");
  CHECK(rig.file(testing::kBeRoot, "io.weight") == "253:16 40\n");
  CHECK(rig.file(kPod, "io.max") == "253:16 rbps=max wbps=max riops=1024 wiops=max\n");
  CHECK(rig.file("", "io.cost.qos") ==
        "253:16 enable=1 ctrl=user rpct=90.00 rlat=1000 wpct=90.00 wlat=1000 min=1.00 max=10000.00\n");
  const auto written = rig.kernel.written.size();
  for (int i = 0; i < 150; ++i) rig.tick(1);
  CHECK(rig.kernel.written.size() == written);
}

TEST_CASE("Nobody has a latency that the kernel would keep by throttling neighbours without one",
          "[koordlet][blkio]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  Rig rig(version);
  const std::string why = ": not done: the kernel would keep it by holding back every group that has none";
  const std::string pods = std::string(api::PodBlkioQos::kAnnotation) + ": .blocks[0].ioCfg.";
  CHECK(rig.pod(R"({"blocks":[{"name":"html","type":"podvolume","ioCfg":
      {"readIOPS":9,"readLatency":1,"writeLatencyPercent":99}}]})") ==
        std::vector<std::string>{pods + "readLatency" + why, pods + "writeLatencyPercent" + why});
  rig.say(R"({"resourceQOSStrategy":{"beClass":{"blkioQOS":{"enable":true,"blocks":[
      {"name":"/dev/vdb","type":"device","ioCfg":{"writeIOPS":7,"writeLatency":5000}}]}},
      "cgroupRoot":{"blkioQOS":{"enable":true,"blocks":[
      {"name":"/dev/vdb","type":"device","ioCfg":{"readLatency":1000}}]}}}})");
  rig.tick(1);
  for (const char* group : {testing::kBeRoot, kPod})
    CHECK(rig.kernel.group(group).files["io.latency"].empty());
  CHECK(rig.report("BlkIOReconcile").status.summary ==
        "4 settings of 2 groups, costs of 1 disks; 1 problems: beClass: block \"/dev/vdb\" of type "
        "\"device\": ioCfg.writeLatency" +
            why);
}

TEST_CASE("In cgroup v1 a container is throttled itself: its group's parents hold nobody back",
          "[koordlet][blkio][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const bool best_effort = GENERATE(true, false);
  CAPTURE(best_effort);
  koord::testing::Tree tree;
  Rig rig(version, tree / "journal");
  rig.say(kSlo);
  CHECK(rig.pod(R"({"blocks":[{"name":"html","type":"podvolume","ioCfg":{"readIOPS":0,"writeIOPS":512,
      "readBPS":2097152,"ioWeightPercent":50}},{"name":"/dev/vda","type":"device","ioCfg":{"readIOPS":5}}]})")
            .empty());
  auto info = std::make_shared<PodInfo>(*rig.inventory.pods[0]);
  if (!best_effort) info->group = "kubepods/burstable/podp0";
  for (const char* name : {"a", "b"}) {
    const std::string group = fmt::format("{}/{}", info->group, name);
    info->containers.push_back({.name = name, .id = name, .full_id = name, .group = group});
    auto& files = rig.kernel.group(group).files;
    for (const char* file : kV1Files) files[file] = "";
    for (const char* file : kV2Files) files[file] = "";
  }
  rig.inventory.pods = {info};
  ++rig.inventory.generation;
  rig.tick(1);
  for (const ContainerInfo& container : info->containers) {
    const auto file = [&](const char* name) { return rig.file(container.group, name); };
    CHECK(file("io.max").empty());  // v2's limits are of all that is below
    if (version == CgroupVersion::v2) continue;
    // The lower one of the pod's and of its tier's, where that has one.
    CHECK(file(kV1Files[0]) == (best_effort ? "253:0 5\n253:16 1024\n" : "253:0 5\n"));
    CHECK(file(kV1Files[1]) == "253:16 512\n");
    CHECK(file(kV1Files[2]) == (best_effort ? "253:16 1048576\n" : "253:16 2097152\n"));
    CHECK(file(kV1Files[3]) == (best_effort ? "253:16 1048576\n" : ""));
    CHECK(file(kV1Files[4]).empty());  // a weight is shared out below
  }
  rig.start();  // a crash
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  for (const ContainerInfo& container : info->containers)
    for (const auto& [name, text] : rig.kernel.group(container.group).files) CHECK(text.empty());
}

TEST_CASE("A disk without a model of the user's has the kernel's, and latencies have the original's defaults",
          "[koordlet][blkio]") {
  Rig rig(CgroupVersion::v2);
  const auto root = [&](std::string_view io) {
    rig.say(fmt::format(R"({{"resourceQOSStrategy":{{"cgroupRoot":{{"blkioQOS":{{"enable":true,"blocks":[
        {{"name":"/dev/vda1","type":"device","ioCfg":{}}}]}}}}}}}})",
                        io));
    rig.tick(1);
  };
  root(
      R"({"enableUserModel":true,"modelReadBPS":1,"modelReadSeqIOPS":1,"modelReadRandIOPS":1,"modelWriteBPS":1,
           "modelWriteSeqIOPS":1,"modelWriteRandIOPS":1})");
  CHECK(rig.file("", "io.cost.qos") ==
        "253:0 enable=1 ctrl=user rpct=95.00 rlat=3000 wpct=95.00 wlat=3000 min=1.00 max=10000.00\n");
  CHECK(rig.file("", "io.cost.model") ==
        "253:0 ctrl=user model=linear rbps=1 rseqiops=1 rrandiops=1 wbps=1 wseqiops=1 wrandiops=1\n");
  root("{}");
  CHECK(rig.file("", "io.cost.model").starts_with("253:0 ctrl=auto model=linear rbps=488636629 "));
  // A model that lacks a figure is none: the original writes 0 for it.
  root(R"({"enableUserModel":true,"modelReadBPS":1})");
  CHECK(rig.file("", "io.cost.model").starts_with("253:0 ctrl=auto "));
  CHECK(rig.report("BlkIOReconcile")
            .status.summary.ends_with(
                "cgroupRoot: the model of 253:0 stays as it is: modelReadSeqIOPS is missing"));
}

TEST_CASE("What is not said any more goes back to what was found, not to nothing",
          "[koordlet][blkio][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const bool v2 = version == CgroupVersion::v2;
  const int how = GENERATE(0, 1, 2, 3);
  CAPTURE(v2, how);
  koord::testing::Tree tree;
  Rig rig(version, tree / "journal");
  // Somebody else's limits: of the same disk, of another one, a weight, and costs as an administrator set
  // them.
  auto& be = rig.kernel.group(testing::kBeRoot).files;
  auto& root = rig.kernel.group("").files;
  if (v2) {
    be["io.max"] = "253:0 rbps=max wbps=5 riops=max wiops=max\n253:16 rbps=max wbps=max riops=7 wiops=9\n";
    be["io.weight"] = "253:16 300\n";
    root["io.cost.qos"] =
        "253:16 enable=0 ctrl=user rpct=10.50 rlat=9 wpct=20.00 wlat=9 min=50.00 max=150.00\n";
  } else {
    be[kV1Files[0]] = "253:0 5\n253:16 7\n";
    be[kV1Files[4]] = "253:16 300\n";
    root["blkio.cost.qos"] =
        "253:16 enable=0 ctrl=user rpct=10.50 rlat=9 wpct=20.00 wlat=9 min=50.00 max=150.00\n";
  }
  const std::string before = rig.all();
  rig.say(kSlo);
  rig.pod(kPodSays);
  rig.tick(1);
  CHECK(rig.all() != before);
  if (how == 3) rig.start();  // a crash
  if (how == 0) {
    rig.say(R"({"resourceQOSStrategy":{}})");
    rig.inventory.pods.clear();
    rig.pod_usage.clear();
    rig.tick(1);
  } else if (how == 1) {
    rig.inventory.slo.reset();
    ++rig.inventory.generation;
    rig.tick(1);
  } else {
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  }
  std::string after = rig.all();
  // The kernel lists the model of a disk from its first use on; that it is its own is what was there.
  for (const char* file : {" io.cost.model: ", " blkio.cost.model: "})
    if (const auto at = after.find(file); at != std::string::npos) {
      CHECK(after.substr(at + std::string(file).size()).starts_with("253:16 ctrl=auto "));
      after.erase(at, after.find('\n', at) + 1 - at);
    }
  CHECK(after == before);
  CHECK_FALSE(host::exists(tree / "journal"));
}

TEST_CASE("An agent that dies between any two writes of block I/O leaves what the next one puts back",
          "[koordlet][blkio][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const bool cleanup = GENERATE(false, true);
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) { return std::make_unique<Rig>(version, journal); },
      [&](Rig& rig) {
        rig.say(kSlo);
        rig.pod(kPodSays);
        rig.tick(1);
      },
      [&](Rig& rig, const std::string& journal, std::size_t) {
        rig.say(R"({"resourceQOSStrategy":{}})");
        rig.inventory.pods.clear();
        rig.pod_usage.clear();
        rig.start();
        if (cleanup)
          REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        else
          rig.tick(1);
        REQUIRE_FALSE(host::exists(journal));
        const std::string rest = rig.all();
        REQUIRE(rest.find(kPod) == std::string::npos);
        REQUIRE(rest.find("besteffort") == std::string::npos);
        REQUIRE(rest.find("enable=1") == std::string::npos);
        REQUIRE(rest.find("ctrl=user") == std::string::npos);
      });
  CHECK(writes == 9);
}

TEST_CASE("One block that cannot be found costs that block alone", "[koordlet][blkio]") {
  struct Row {
    std::string_view block, problem;
  };
  const Row rows[] = {
      {R"({"name":"/dev/sdz","type":"device"})",
       R"(beClass: block "/dev/sdz" of type "device": "/dev/sdz": there is no such device)"},
      {R"({"name":"sdz","type":"device"})",
       R"(beClass: block "sdz" of type "device": "sdz": expected the path of a device, as /dev/vdb)"},
      {R"({"name":"pool","type":"volumegroup"})",
       R"(beClass: block "pool" of type "volumegroup": "pool": no logical volume of such a group is active)"},
      {R"({"name":"html","type":"podvolume"})",
       R"(beClass: block "html" of type "podvolume": volumes are pods': only a pod can say this)"},
      {R"({"name":"x","type":"tape"})",
       R"(beClass: block "x" of type "tape": expected device, volumegroup or podvolume)"},
      {R"({"name":"/dev/vda","type":"device","ioCfg":{"readIOPS":4294967296}})",
       R"(beClass: block "/dev/vda" of type "device": ioCfg.readIOPS: 4294967296: expected 0 to 4294967295)"},
      {R"({"name":"/dev/vda","type":"device","ioCfg":{"ioWeightPercent":101}})",
       R"(beClass: block "/dev/vda" of type "device": ioCfg.ioWeightPercent: 101: expected 1 to 100)"},
  };
  for (const Row& row : rows) {
    Rig rig(CgroupVersion::v2);
    rig.say(fmt::format(R"({{"resourceQOSStrategy":{{"beClass":{{"blkioQOS":{{"enable":true,"blocks":[{},
        {{"name":"/dev/vdb","type":"device","ioCfg":{{"readBPS":100}}}}]}}}}}}}})",
                        row.block));
    rig.tick(1);
    CHECK(rig.file(testing::kBeRoot, "io.max") == "253:16 rbps=100 wbps=max riops=max wiops=max\n");
    CHECK(rig.report("BlkIOReconcile").status.summary ==
          fmt::format("1 settings of 1 groups, costs of 0 disks; 1 problems: {}", row.problem));
    rig.tick(1);
    std::string quoted;  // as the log has it
    for (const char c : row.problem) quoted += c == '"' ? "\\\"" : std::string(1, c);
    const auto lines = rig.log.lines();
    CHECK(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.find(quoted) != std::string::npos;
          }) == 1);
  }
}

TEST_CASE("Volumes of pods: by claim, by the volume's own name, and those that are not there",
          "[koordlet][blkio]") {
  constexpr std::string_view kSays =
      R"({"blocks":[{"name":"html","type":"podvolume","ioCfg":{"readIOPS":10}}]})";
  struct Row {
    std::string_view volumes, problem;
  };
  const Row rows[] = {
      {R"({"name":"html","csi":{}})", ""},
      {R"({"name":"html","persistentVolumeClaim":{"claimName":"bound"}})", ""},
      {R"({"name":"html","ephemeral":{}})", ""},
      {R"({"name":"html","persistentVolumeClaim":{"claimName":"waits"}})",
       "which PersistentVolume the claim \"waits\" has is not known"},
      {R"({"name":"html","persistentVolumeClaim":{"claimName":"elsewhere"}})",
       "\"pv-2\" is not mounted for the pod"},
      {R"({"name":"html","emptyDir":{}})", "the pod has no such volume of a claim, or of CSI"},
      {R"({"name":"other","csi":{}})", "the pod has no such volume of a claim, or of CSI"},
  };
  auto claims = std::make_shared<ClaimVolumes>();
  claims->volumes = {{{"default", "bound"}, "pv-1"},
                     {{"default", "p0-html"}, "pv-1"},
                     {{"default", "waits"}, ""},
                     {{"default", "elsewhere"}, "pv-2"}};
  for (const Row& row : rows) {
    CAPTURE(row.volumes);
    Rig rig(CgroupVersion::v1);
    rig.inventory.claims = claims;
    CHECK(rig.pod(kSays, row.volumes).empty());
    rig.tick(1);
    const std::string& limit = rig.file(kPod, kV1Files[0]);
    const std::string summary = rig.report("BlkIOReconcile").status.summary;
    if (row.problem.empty()) {
      CHECK(limit == "253:16 10\n");
    } else {
      CHECK(limit.empty());
      CHECK(summary.ends_with(
          fmt::format(R"(pod default/p0: block "html" of type "podvolume": {})", row.problem)));
    }
  }
}

TEST_CASE("Whose annotation counts", "[koordlet][blkio]") {
  struct Row {
    Qos qos;
    PodPhase phase;
    bool counts;
  };
  const Row rows[] = {{Qos::be, PodPhase::running, true},
                      {Qos::ls, PodPhase::running, true},
                      {Qos::none, PodPhase::running, false},  // without a label
                      {Qos::be, PodPhase::pending, false}};
  for (const Row& row : rows) {
    Rig rig(CgroupVersion::v1);
    rig.pod(kPodSays, R"({"name":"html","csi":{}})", row.qos, row.phase);
    rig.tick(1);
    CHECK(rig.file(kPod, kV1Files[0]).empty() == !row.counts);
  }
}

TEST_CASE("Annotations that make no sense are named, and what does counts", "[koordlet][blkio]") {
  Rig rig(CgroupVersion::v1);
  const std::string name(api::PodBlkioQos::kAnnotation);
  CHECK(rig.pod(R"({"blocks":[{"name":"html","type":"podvolume","ioCfg":{"readIOPS":-1,"writeIOPS":5,
      "ioWeightPercent":0,"readBPS":9223372036854775807}}]})") ==
        std::vector<std::string>{name + ": .blocks[0].ioCfg.readIOPS: -1: expected 0 to 4294967295",
                                 name + ": .blocks[0].ioCfg.ioWeightPercent: 0: expected 1 to 100"});
  rig.tick(1);
  CHECK(rig.file(kPod, kV1Files[0]).empty());
  CHECK(rig.file(kPod, kV1Files[1]) == "253:16 5\n");
  CHECK(rig.file(kPod, kV1Files[2]) == "253:16 9223372036854775807\n");
  std::string many = R"({"blocks":[)";
  for (int i = 0; i < 65; ++i) many += i > 0 ? ",{}" : "{}";
  const std::string texts[] = {"{",
                               "[]",
                               R"({"blocks":{}})",
                               R"({"blocks":[{"ioCfg":{"readIOPS":"x"}}]})",
                               R"({"blocks":[{"ioCfg":{"readIOPS":1e99}}]})",
                               many + "]}",
                               std::string(100'000, ' ')};
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 80));
    const auto warnings = rig.pod(text);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].starts_with(name + ": "));
    rig.tick(1);
    CHECK(rig.file(kPod, kV1Files[1]).empty());
  }
  // Names as Go takes them, absent and empty ones.
  CHECK(
      rig.pod(R"({"BLOCKS":[{"Name":"html","TYPE":"podvolume","ioCFG":{"readiops":9,"unknown":1}}],"x":[]})")
          .empty());
  rig.tick(1);
  CHECK(rig.file(kPod, kV1Files[0]) == "253:16 9\n");
  CHECK(rig.pod("").empty());
  rig.tick(1);
  CHECK(rig.file(kPod, kV1Files[0]).empty());
}

TEST_CASE("Blocks of one disk: what the later says goes over the earlier", "[koordlet][blkio]") {
  Rig rig(CgroupVersion::v1);
  rig.pod(R"({"blocks":[{"name":"/dev/vdb1","type":"device","ioCfg":{"readIOPS":1,"writeIOPS":2}},
      {"name":"yoda-pool0","type":"volumegroup","ioCfg":{"readIOPS":3}},
      {"name":"/dev/vda","type":"device","ioCfg":{"readIOPS":4}}]})");
  rig.tick(1);
  CHECK(rig.file(kPod, kV1Files[0]) == "253:0 4\n253:16 3\n");
  CHECK(rig.file(kPod, kV1Files[1]) == "253:16 2\n");
}

TEST_CASE("Disks come and go; until they are known what is there stays", "[koordlet][blkio]") {
  koord::testing::Tree tree;
  Rig rig(CgroupVersion::v1, tree / "journal");
  rig.pod(kPodSays);
  rig.tick(1);
  REQUIRE(rig.file(kPod, kV1Files[0]) == "253:16 1024\n");
  rig.shown = false;  // as after a restart
  rig.start();
  rig.tick(1);
  rig.tick(1);
  CHECK(rig.file(kPod, kV1Files[0]) == "253:16 1024\n");
  // The volume moves to another disk.
  rig.shown = true;
  rig.storage.volumes[0].number = {253, 1};
  ++rig.storage.version;
  rig.tick(1);
  rig.tick(1);
  CHECK(rig.file(kPod, kV1Files[0]) == "253:0 1024\n");
  // It goes, and so does what the kernel knew of it.
  rig.storage.volumes.clear();
  ++rig.storage.version;
  rig.kernel.block_io.disks.erase("253:0");
  rig.kernel.group(kPod).files[kV1Files[0]] = rig.kernel.group(kPod).files[kV1Files[1]] = "";
  rig.tick(1);
  CHECK(rig.report("BlkIOReconcile").status.summary.find("is not mounted for the pod") != std::string::npos);
  CHECK(rig.manager->failures().empty());
}

TEST_CASE("While nobody says which volume a claim has its limits stay, but not for ever",
          "[koordlet][blkio]") {
  koord::testing::Tree tree;
  Rig rig(CgroupVersion::v1, tree / "journal");
  auto claims = std::make_shared<ClaimVolumes>();
  claims->volumes = {{{"default", "c"}, "pv-1"}};
  rig.inventory.claims = claims;
  rig.pod(kPodSays, R"({"name":"html","persistentVolumeClaim":{"claimName":"c"}})");
  rig.tick(1);
  REQUIRE(rig.file(kPod, kV1Files[0]) == "253:16 1024\n");
  rig.inventory.claims = nullptr;
  ++rig.inventory.generation;
  rig.start();
  for (int i = 0; i < 100; ++i) rig.tick(1);
  CHECK(rig.file(kPod, kV1Files[0]) == "253:16 1024\n");
  for (int i = 0; i < 30; ++i) rig.tick(1);
  CHECK(rig.file(kPod, kV1Files[0]).empty());
}

TEST_CASE("A kernel without io.cost, or that refuses a limit, keeps the others", "[koordlet][blkio]") {
  Rig rig(CgroupVersion::v1);
  for (const char* file : {"blkio.cost.qos", "blkio.cost.model"}) rig.kernel.group("").files.erase(file);
  rig.kernel.group(testing::kBeRoot).files.erase(kV1Files[4]);
  rig.kernel.fault = [](std::string_view path, std::string_view) {
    return path.ends_with("read_bps_device") ? EINVAL : 0;
  };
  rig.say(kSlo);
  for (int i = 0; i < 3; ++i) rig.tick(1);
  CHECK(rig.file(testing::kBeRoot, kV1Files[0]) == "253:16 1024\n");
  CHECK(rig.file(testing::kBeRoot, kV1Files[3]) == "253:16 1048576\n");
  REQUIRE(rig.manager->failures().size() == 1);
  CHECK(rig.manager->failures()[0].group == "kubepods/besteffort 253:16");
}

TEST_CASE("With the gate off nothing happens", "[koordlet][blkio]") {
  Rig rig(CgroupVersion::v2);
  REQUIRE(rig.gates.set("BlkIOReconcile=false").has_value());
  rig.start();
  rig.say(kSlo);
  rig.pod(kPodSays);
  for (int i = 0; i < 3; ++i) rig.tick(1);
  CHECK(rig.all().empty());
  CHECK(rig.kernel.written.empty());
}

TEST_CASE("Random limits: the kernel's files hold what is said, and nothing in the end",
          "[koordlet][blkio]") {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Rig rig(CgroupVersion::v2);
    for (int round = 0; round < 20; ++round) {
      std::string blocks;
      std::map<std::string, std::map<std::string, std::string>> wanted;
      for (const char* disk : {"vda", "vdb"}) {
        if (random() % 3 == 0) continue;
        std::string io;
        for (const auto& [name, word] : {std::pair("readIOPS", "riops"), std::pair("writeBPS", "wbps")}) {
          if (random() % 2 == 0) continue;
          const auto value = std::to_string(1 + random() % 1000);
          io += fmt::format("{}\"{}\":{}", io.empty() ? "" : ",", name, value);
          wanted[disk == std::string("vda") ? "253:0" : "253:16"][word] = value;
        }
        blocks += fmt::format(R"({}{{"name":"/dev/{}","type":"device","ioCfg":{{{}}}}})",
                              blocks.empty() ? "" : ",", disk, io);
      }
      rig.pod(fmt::format(R"({{"blocks":[{}]}})", blocks));
      rig.tick(1);
      std::string text;
      for (const auto& [disk, words] : wanted) {
        const auto word = [&](const char* name) { return words.contains(name) ? words.at(name) : "max"; };
        text += fmt::format("{} rbps=max wbps={} riops={} wiops=max\n", disk, word("wbps"), word("riops"));
      }
      REQUIRE(rig.file(kPod, "io.max") == text);
    }
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
    REQUIRE(rig.all().empty());
  }
}

}  // namespace
}  // namespace koord::koordlet
