// Shared pools and the kubelet's order of CPUs: upstream's tables.
#include "framework/model/shared_pools.hpp"

#include <catch2/catch.hpp>

#include "framework/model/first_cpus.hpp"
#include "rigs/machines.hpp"

namespace koord::koordlet {
namespace {

using host::CpuSet;
using testing::CpuRow;
using testing::machine;

CpuSet cpus(std::string_view list) { return *CpuSet::parse(list); }

/// Two threads a core: CPUs `i` and `i + cores`; each core on socket and NUMA node as `place` says.
template <class Place>
std::shared_ptr<const host::Topology> threads(int cores, Place place) {
  std::vector<CpuRow> rows;
  for (int cpu = 0; cpu < 2 * cores; ++cpu) {
    const auto [socket, node] = place(cpu % cores);
    rows.push_back({cpu, cpu % cores, socket, node});
  }
  return machine(rows);
}
using At = std::pair<int, int>;
const auto kOneSocket = threads(4, [](int) { return At(0, 0); });
const auto kTwoSockets = threads(6, [](int core) { return At(core % 2, core % 2); });
const auto kFourNodes = threads(40, [](int core) { return At(core / 20, core / 10); });

TEST_CASE("CPUs are taken as the kubelet takes them") {
  struct Row {
    const char* name;
    const host::Topology& topology;
    const char* free;
    int count;
    const char* taken;
  };
  const Row rows[] = {
      {"more than there are", *kOneSocket, "0,2,4,6", 5, nullptr},
      {"none", *kOneSocket, "0-7", 0, ""},
      {"fewer than none", *kOneSocket, "0-7", -2, ""},
      {"one", *kOneSocket, "0-7", 1, "0"},
      {"one, of a core that is free no more", *kOneSocket, "1,3,5-7", 1, "6"},
      {"a core", *kOneSocket, "0-7", 2, "0,4"},
      {"all", *kOneSocket, "0-7", 8, "0-7"},
      {"the only core that is free", *kOneSocket, "0-3,6", 2, "2,6"},
      {"a socket", *kTwoSockets, "0-11", 6, "0,2,4,6,8,10"},
      {"one, from the socket with fewer", *kTwoSockets, "1-5,7-11", 1, "2"},
      {"a socket and a core", *kTwoSockets, "0-11", 8, "0-2,4,6-8,10"},
      {"a core and a thread", *kTwoSockets, "0-11", 3, "0,2,6"},
      {"a socket of two nodes", *kFourNodes, "0-79", 40, "0-19,40-59"},
      {"a node", *kFourNodes, "0-79", 20, "0-9,40-49"},
      {"a node, the first one being taken", *kFourNodes, "10-39,50-79", 20, "10-19,50-59"},
      {"a socket and a node", *kFourNodes, "0-79", 60, "0-29,40-69"},
      {"a socket and a node, a core being taken", *kFourNodes, "1-39,41-79", 60, "10-39,50-79"},
      {"three nodes and two cores", *kFourNodes, "0-79", 64, "0-31,40-71"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto taken = first_cpus(row.topology, cpus(row.free), row.count);
    REQUIRE(taken.has_value() == (row.taken != nullptr));
    if (taken) CHECK(taken->to_string() == row.taken);
  }
}

/// CPUs 0-3 on socket and node 0, 4-7 on 1.
const auto kEight = machine(8);

PodInfo pod(const char* uid, Qos qos = Qos::none, const char* own = nullptr) {
  PodInfo info;
  info.uid = uid;
  info.qos = qos;
  if (own != nullptr) info.cpus = cpus(own);
  return info;
}

struct Case {
  const char* name;
  std::vector<PodInfo> pods;  // ascending by uid
  std::vector<KubeletGrant> grants = {};
  const char* reserved = "";
  int reserved_milli = 0;
  const char* system_qos = "";
  const char *ls, *be;  // pools by node
};

std::string told(const std::vector<SharedPool>& pools) {
  std::string text;
  for (const SharedPool& pool : pools)
    text += (text.empty() ? "" : " ") + std::to_string(pool.socket) + "/" + std::to_string(pool.node) + ":" +
            pool.cpus.to_string();
  return text;
}

TEST_CASE("Shared pools are what nobody has for himself") {
  const std::vector<PodInfo> upstreams = {pod("y1", Qos::lsr, "4"), pod("y2", Qos::none, "3"),
                                          pod("y3", Qos::lse, "5"), pod("y4")};
  const Case cases[] = {
      {.name = "nobody", .pods = {}, .ls = "0/0:0-3 1/1:4-7", .be = "0/0:0-3 1/1:4-7"},
      {.name = "upstream's pods", .pods = upstreams, .ls = "0/0:0-2 1/1:6-7", .be = "0/0:0-3 1/1:4,6-7"},
      {.name = "reserved, and the system's",
       .pods = upstreams,
       .reserved = "1-2",
       .system_qos = "7",
       .ls = "0/0:0 1/1:6",
       .be = "0/0:0,3 1/1:4,6"},
      {.name = "the kubelet's static pod",
       .pods = upstreams,
       .grants = {{"y4", {1}}},
       .ls = "0/0:0,2 1/1:6-7",
       .be = "0/0:0,2-3 1/1:4,6-7"},
      {.name = "what the kubelet gave to pods that are pinned here, or to one that it does not name",
       .pods = {pod("a", Qos::ls), pod("b", Qos::be), pod("c", Qos::lsr, "4"), pod("d", Qos::lsr)},
       .grants = {{"a", {0}}, {"b", {1}}, {"c", {2}}, {"d", {3}}, {"gone", {7}}},
       .ls = "0/0:0-2 1/1:5-6",
       .be = "0/0:0-2 1/1:4-6"},
      {.name = "a node that is a pod's has no pool",
       .pods = {pod("a", Qos::lse, "0-3")},
       .ls = "1/1:4-7",
       .be = "1/1:4-7"},
      {.name = "one that is reserved has an empty one",
       .pods = {},
       .reserved = "0-3",
       .ls = "0/0: 1/1:4-7",
       .be = "0/0: 1/1:4-7"},
      {.name = "reserved by number",
       .pods = {},
       .reserved_milli = 2500,
       .ls = "0/0:3 1/1:4-7",
       .be = "0/0:3 1/1:4-7"},
      {.name = "CPUs that are not there",
       .pods = {pod("a", Qos::lse, "7-9")},
       .ls = "0/0:0-3 1/1:4-6",
       .be = "0/0:0-3 1/1:4-6"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.name);
    Inventory inventory;
    for (const PodInfo& info : one.pods) inventory.all_pods.push_back(std::make_shared<const PodInfo>(info));
    inventory.own_cpus.grants = one.grants;
    inventory.node.reserved_cpus = cpus(one.reserved);
    inventory.node.reserved_milli_cpu = one.reserved_milli;
    inventory.node.system_qos_cpus = cpus(one.system_qos);
    const SharedPools pools = shared_pools(*kEight, inventory);
    CHECK(told(pools.ls) == one.ls);
    CHECK(told(pools.be) == one.be);
  }
}

TEST_CASE("A CPU that goes is in no pool") {
  host::Topology less = *kEight;
  less.cpus.pop_back();
  less.online.remove(7);
  CHECK(told(shared_pools(less, Inventory()).ls) == "0/0:0-3 1/1:4-6");
}

}  // namespace
}  // namespace koord::koordlet
