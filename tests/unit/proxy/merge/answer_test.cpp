// Answers of hook servers that no runtime is told.
#include "merge/answer.hpp"

#include <catch2/catch.hpp>

using namespace koord;
using namespace koord::proxy;

TEST_CASE("A cgroup parent stays in its place", "[answer]") {
  struct Row {
    const char *asked, *said;
    bool ok;
  };
  const Row rows[] = {
      {"/kubepods/podU", "", true},         {"/kubepods/podU", "/kubepods/podU", true},
      {"/kubepods/podU", "/offline", true}, {"", "kubepods-besteffort-podU.slice", true},
      {"/kubepods", "/a/..b/c..", true},    {"/kubepods", "..", false},
      {"/kubepods", "../..", false},        {"/kubepods", "/kubepods/../system.slice", false},
      {"/kubepods", "/kubepods/..", false}, {"/a/../b", "/a/../b", true},  // the kubelet's own
  };
  for (const Row& row : rows) {
    INFO(row.said);
    hooks::PodRequest pod;
    hooks::PodResponse of_pod;
    pod.cgroup_parent = row.asked;
    of_pod.cgroup_parent = row.said;
    CHECK(check_answer(pod, of_pod).has_value() == row.ok);
    hooks::ContainerRequest container;
    hooks::ContainerResponse of_container;
    container.pod_cgroup_parent = row.asked;
    of_container.pod_cgroup_parent = row.said;
    const auto checked = check_answer(container, of_container);
    CHECK(checked.has_value() == row.ok);
    if (!checked)
      CHECK_THAT(checked.error().message(), Catch::StartsWith("the answer's pod_cgroup_parent: \""));
  }
  hooks::PodResponse said;
  said.cgroup_parent = std::string("/kubepods\0/x", 12);
  CHECK_FALSE(check_answer(hooks::PodRequest(), said).has_value());
  said.cgroup_parent = std::string(5000, 'a');
  CHECK_FALSE(check_answer(hooks::PodRequest(), said).has_value());
}

TEST_CASE("CPUs are lists and names are names", "[answer]") {
  struct Row {
    const char* what;
    hooks::Resources resources;
    hooks::Map env;
    const char* refused;  // a part of the message; null: it is fine
  };
  const auto cpus = [](std::string list) {
    hooks::Resources resources;
    resources.cpuset_cpus = std::move(list);
    return resources;
  };
  const auto unified = [](hooks::Map map) {
    hooks::Resources resources;
    resources.unified = std::move(map);
    return resources;
  };
  const Row rows[] = {
      {"nothing", {}, {}, nullptr},
      {"a list", cpus("0-3,8"), {}, nullptr},
      {"no list", cpus("all"), {}, "cpuset_cpus: \"all\" is no list"},
      {"what the kubelet said", cpus("odd"), {}, nullptr},
      {"a file of the cgroup", unified({{"memory.high", "1"}}), {}, nullptr},
      {"one elsewhere", unified({{"../memory.max", "max"}}), {}, "unified: \"../memory.max\""},
      {"variables", {}, {{"A", "1=2"}, {"B", ""}}, nullptr},
      {"two in one", {}, {{"A=B", "secret"}}, "container_envs: \"A=B\""},
      {"no name", {}, {{"", "secret"}}, "container_envs: \"\""},
      {"a zero byte", {}, {{"A", std::string("secret\0B=1", 10)}}, "container_envs: \"A\""},
      {"the pod's own", {}, {{"odd=", "1"}}, nullptr},
  };
  hooks::ContainerRequest asked;
  asked.env = {{"odd=", "1"}};
  asked.resources.emplace().cpuset_cpus = "odd";
  for (const Row& row : rows) {
    INFO(row.what);
    hooks::ContainerResponse said;
    said.resources = row.resources;
    said.env = row.env;
    const auto checked = check_answer(asked, said);
    CHECK(checked.has_value() == (row.refused == nullptr));
    if (checked || row.refused == nullptr) continue;
    CHECK_THAT(checked.error().message(), Catch::Contains(row.refused) && !Catch::Contains("secret"));
  }
}
