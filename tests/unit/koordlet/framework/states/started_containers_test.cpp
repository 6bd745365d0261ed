// Containers of which the runtime tells before the kubelet does.
#include "framework/states/started_containers.hpp"

#include <catch2/catch.hpp>

#include "framework/objects/pod_info.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using host::CgroupDriver;
using Started = std::vector<StartedContainer>;

/// A kubelet's word of pods with containers "a" and "b" and one that comes first, "i".
struct Rig {
  struct Said {
    std::string name, id;  // of its status
    bool runs = true;
    std::string ended = {};  // the one before it
  };
  void pod(const std::string& uid, const std::vector<Said>& statuses) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.uid = uid;
    pod->metadata.name = uid;
    pod->metadata.namespace_ = Symbol("ns");
    pod->status.qos_class = Symbol("Burstable");
    pod->status.phase = Symbol("Pending");
    for (const char* name : {"a", "b"}) pod->spec.containers.emplace_back().name = Symbol(name);
    pod->spec.containers[0].resources.limits["cpu"] = api::Quantity::from_milli(500);
    pod->spec.init_containers.emplace_back().name = Symbol("i");
    for (const Said& said : statuses) {
      auto& status = said.name == "i" ? pod->status.init_container_statuses.emplace_back()
                                      : pod->status.container_statuses.emplace_back();
      status.name = Symbol(said.name);
      status.container_id = said.id;
      if (said.runs)
        status.state.running.emplace();
      else
        status.state.terminated.emplace();
      if (!said.ended.empty()) status.last_state.terminated.emplace().container_id = said.ended;
    }
    auto read = read_pod(pod, CgroupDriver::cgroupfs);
    REQUIRE(read.has_value());
    const auto info = std::make_shared<const PodInfo>(std::move(read->info));
    std::erase_if(all, [&](const auto& one) { return one->uid == uid; });
    std::erase_if(pods, [&](const auto& one) { return one->uid == uid; });
    for (auto* list : {&all, read->runs ? &pods : nullptr}) {
      if (list == nullptr) continue;
      list->push_back(info);
      std::ranges::sort(*list, {}, [](const auto& one) { return one->uid; });
    }
  }
  /// What is known with the runtime's word: "UID: NAME ID ...", of those that run.
  std::string known() {
    seen = pods, seen_all = all;
    containers.add_to(seen, seen_all, CgroupDriver::cgroupfs, {}, {});
    std::string text;
    for (const auto& pod : seen) {
      text += pod->uid + ":";
      for (const ContainerInfo& one : pod->containers) {
        CHECK(one.group == pod->group + "/" + one.id);
        text += " " + one.name + " " + one.id;
      }
      text += "\n";
      CHECK(std::ranges::find(seen_all, pod) != seen_all.end());  // the same object in both
    }
    CHECK(seen_all.size() == all.size());
    return text;
  }

  StartedContainers::Pods pods, all, seen, seen_all;
  StartedContainers containers;
};

TEST_CASE("What the runtime says that runs is known before the kubelet tells, as the kubelet would tell it") {
  struct Row {
    std::string_view what;
    std::vector<Rig::Said> statuses;
    Started started;
    std::string_view known;
  };
  const auto c = [](std::string id) { return "containerd://" + std::move(id); };
  for (const Row& row : std::vector<Row>{
           {"nothing", {}, {}, ""},
           {"a start of which nothing is told", {}, {{"u1", "a", c("1")}}, "u1: a 1\n"},
           {"beside one that is told of",
            {{"b", c("2")}},
            {{"u1", "a", c("1")}, {"u1", "b", c("2")}},
            "u1: b 2 a 1\n"},
           {"all are told of", {{"a", c("1")}}, {{"u1", "a", c("1")}}, "u1: a 1\n"},
           {"one that comes first", {}, {{"u1", "i", c("3")}}, "u1: i 3\n"},
           {"it has started again", {{"a", c("1")}}, {{"u1", "a", c("4")}}, "u1: a 4\n"},
           {"the one before it ended", {{"a", c("1"), false}}, {{"u1", "a", c("4")}}, "u1: a 4\n"},
           {"the kubelet knows that it has ended", {{"a", c("1"), false}}, {{"u1", "a", c("1")}}, ""},
           {"that it ended before this one",
            {{"a", c("2"), true, c("1")}},
            {{"u1", "a", c("1")}},
            "u1: a 2\n"},
           {"both run", {{"a", c("1")}}, {{"u1", "a", c("1")}, {"u1", "a", c("4")}}, "u1: a 1\n"},
           {"the runtime says less", {{"a", c("1")}}, {}, "u1: a 1\n"},
           {"no container of that name", {}, {{"u1", "z", c("1")}}, ""},
           {"no pod of that uid", {}, {{"u2", "a", c("1")}, {"", "a", c("1")}, {"u", "a", c("1")}}, ""},
           {"no id", {}, {{"u1", "a", c("../../x")}, {"u1", "b", "nonsense"}, {"u1", "b", ""}}, ""},
       }) {
    INFO(row.what);
    Rig rig;
    rig.pod("u1", row.statuses);
    rig.containers.take(row.started, MonoTime{});
    CHECK(rig.known() == row.known);
    CHECK(rig.known() == row.known);
  }
  Rig rig;
  rig.pod("u1", {});
  rig.containers.take({{"u1", "a", c("1")}}, MonoTime{});
  rig.known();
  CHECK(rig.seen[0]->containers[0].cpu_limit_milli == 500);
  CHECK(rig.seen[0]->containers[0].full_id == c("1"));
}

TEST_CASE(
    "What only the runtime tells of stays until it tells otherwise, for a kubelet that is slow is not "
    "asked") {
  Rig rig;
  rig.pod("u1", {});
  rig.pod("u0", {});
  CHECK(rig.containers.take({{"u1", "a", "containerd://1"}}, MonoTime{1s}));
  CHECK_FALSE(rig.containers.is_old(MonoTime{1h}));  // nobody has been told
  CHECK(rig.known() == "u1: a 1\n");
  const auto first = rig.seen[0];
  CHECK_FALSE(rig.containers.is_old(MonoTime{16s}));
  CHECK(rig.containers.is_old(MonoTime{17s}));
  CHECK_FALSE(rig.containers.take({{"u1", "a", "containerd://1"}}, MonoTime{17s}));
  CHECK_FALSE(rig.containers.is_old(MonoTime{18s}));
  rig.pod("u0", {{"b", "containerd://9"}});
  CHECK(rig.known() == "u0: b 9\nu1: a 1\n");
  CHECK(rig.seen[1] == first);  // nothing has changed of it
  CHECK(rig.containers.take({}, MonoTime{20s}));
  CHECK(rig.known() == "u0: b 9\n");
  rig.containers.take({{"u1", "a", "containerd://1"}}, MonoTime{21s});
  rig.pod("u1", {{"a", "containerd://1"}});
  rig.known();
  CHECK_FALSE(rig.containers.is_old(MonoTime{1h}));  // the kubelet has told
  Started many(StartedContainers::kMost + 10, {"u1", "b", "containerd://2"});
  rig.containers.take(std::move(many), MonoTime{22s});
  CHECK(rig.known() == "u0: b 9\nu1: a 1 b 2\n");
}

}  // namespace
}  // namespace koord::koordlet
