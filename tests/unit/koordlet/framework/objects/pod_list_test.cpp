// Lists of the kubelet's, one after the other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "framework/objects/pod_info.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupDriver;

std::string pod(std::string_view uid, std::string_view phase = "Running", std::string_view app = "web") {
  return fmt::format(
      R"({{"metadata":{{"name":"p","namespace":"d","uid":"{0}","labels":{{"app":"{2}"}}}},
          "spec":{{"nodeName":"n1","containers":[{{"name":"c"}}]}},
          "status":{{"phase":"{1}","containerStatuses":[{{"name":"c","containerID":"containerd://c-{0}",
            "state":{{"{3}":{{}}}}}}]}}}})",
      uid, phase, app, phase == "Running" ? "running" : "waiting");
}

PodList read(const std::vector<std::string>& pods, CgroupDriver driver = CgroupDriver::cgroupfs) {
  auto list = read_pod_list(
      fmt::format(R"({{"kind":"PodList","apiVersion":"v1","items":[{}]}})", fmt::join(pods, ",")), "n1",
      driver);
  REQUIRE(list.has_value());
  return std::move(*list);
}

TEST_CASE("Pods that are as they were stay the same, in whatever order the kubelet lists them") {
  const PodList before = read({pod("a"), pod("b", "Pending"), pod("c"), pod("e")});
  REQUIRE(before.pods.size() == 3);

  PodList now = read({pod("e"), pod("d"), pod("c", "Running", "shop"), pod("b"), pod("a")});
  keep_unchanged(now, before.all);
  REQUIRE(now.all.size() == 5);
  CHECK(now.all == now.pods);
  CHECK(now.all[0] == before.all[0]);
  CHECK(now.all[1] != before.all[1]);  // it runs by now
  CHECK(now.all[2] != before.all[2]);
  CHECK(now.all[3]->uid == "d");
  CHECK(now.all[4] == before.all[3]);

  PodList fewer = read({pod("c"), pod("b", "Pending"), pod("a")});
  keep_unchanged(fewer, before.all);
  CHECK(fewer.all == std::vector(before.all.begin(), before.all.begin() + 3));
  CHECK(fewer.pods == std::vector(before.pods.begin(), before.pods.begin() + 2));

  PodList elsewhere = read({pod("a")}, CgroupDriver::systemd);
  keep_unchanged(elsewhere, before.all);
  CHECK(elsewhere.all[0] != before.all[0]);
}

}  // namespace
}  // namespace koord::koordlet
