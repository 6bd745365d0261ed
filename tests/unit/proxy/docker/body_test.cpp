// Docker's bodies: what hooks are asked with, and what a change leaves as it was.
#include "docker/body.hpp"

#include <catch2/catch.hpp>

#include "merge/merge.hpp"

namespace koord::proxy::docker {
namespace {

using rpc::cri::ContainerChange;
using rpc::cri::PodChange;
using rpc::cri::ResourceChange;
using rpc::hooks::Map;
using rpc::hooks::Resources;

constexpr const char* kContainer =
    R"({"Hostname":"","Env":["B=1","A=x=y","B=2","PLAIN"],"Cmd":null,"Labels":{"annotation.note":"n","io.kubernetes.docker.type":"container","io.kubernetes.sandbox.id":"s1"},"NotThoughtOf":[1,2.5,{"x":null}],"HostConfig":{"Binds":["/a:/b"],"CpuShares":512,"CpuPeriod":100000,"CpuQuota":-1,"Memory":1048576,"MemorySwap":-1,"CpusetCpus":"0-3","CpusetMems":"0","OomScoreAdj":-997,"CgroupParent":"kubepods-besteffort-podu.slice","Later":1},"NetworkingConfig":{}})";

CreateBody read(std::string_view text) {
  auto body = CreateBody::read(text);
  REQUIRE(body.has_value());
  return std::move(*body);
}

TEST_CASE("a container's create as hooks see it") {
  const CreateBody body = read(kContainer);
  CHECK(body.of_kubernetes());
  CHECK_FALSE(body.is_sandbox());
  CHECK(body.sandbox_id() == "s1");
  CHECK(body.text() == kContainer);
  const auto identity = body.identity("k8s_main_web_ns_u_2");
  REQUIRE(identity.has_value());
  const rpc::hooks::ContainerRequest asked = body.container(*identity, true);
  CHECK(asked.meta == rpc::hooks::ContainerMeta{.name = "main", .attempt = 2, .id = ""});
  CHECK(asked.annotations == Map{{"note", "n"}});
  CHECK(asked.env == Map{{"A", "x=y"}, {"B", "2"}});
  CHECK(asked.pod_cgroup_parent ==
        "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu.slice");
  CHECK(asked.resources == Resources{.cpu_period = 100000,
                                     .cpu_quota = -1,
                                     .cpu_shares = 512,
                                     .memory_limit = 1048576,
                                     .oom_score_adj = -997,
                                     .cpuset_cpus = "0-3",
                                     .cpuset_mems = "0",
                                     .hugepages = {},
                                     .unified = {},
                                     .memory_swap_limit = -1});
  CHECK(body.identity("quizzical_hopper").error().message() ==
        "Failed to split k8s container name \"quizzical_hopper\"");
}

TEST_CASE("a change touches what it names, in its place") {
  struct Row {
    const char* before;
    ContainerChange change;
    const char* after;
  };
  ContainerChange resources;
  resources.resources.cpu_shares = 2;
  resources.resources.cpuset_cpus = "1";
  resources.resources.unified = {{"cpu.idle", "1"}};  // Docker has no place for it
  ContainerChange memory;
  memory.resources.memory_limit = 5;
  const Row rows[] = {
      {R"({"HostConfig":{"A":1,"CpuShares":512,"Z":[]},"X":1})", resources,
       R"({"HostConfig":{"A":1,"CpuShares":2,"Z":[],"CpusetCpus":"1"},"X":1})"},
      {R"({"X":1})", resources, R"({"X":1,"HostConfig":{"CpuShares":2,"CpusetCpus":"1"}})"},
      {R"({"HostConfig":null,"X":1})", memory, R"({"HostConfig":{"Memory":5},"X":1})"},
      // As Go reads them: in any case, the last of them.
      {R"({"hostconfig":{"MEMORY":1,"memory":2}})", memory, R"({"hostconfig":{"MEMORY":1,"memory":5}})"},
      {R"({"Env":["B=1","A=1","B=2","C"]})",
       {.env = {{"B", "3"}, {"D", "4"}}, .env_removed = {"A"}},
       R"({"Env":["B=1","B=3","C","D=4"]})"},
      {R"({"Env":null})", {.env = {{"D", "4"}}}, R"({"Env":["D=4"]})"},
      {R"({"Labels":{"a":"1"}})",
       {.annotations = {{"n", "2"}}},
       R"({"Labels":{"a":"1","annotation.n":"2"}})"},
      {R"({"HostConfig":{"CgroupParent":"a.slice"}})",
       {.pod_cgroup_parent = "/b.slice/b-c.slice"},
       R"({"HostConfig":{"CgroupParent":"b-c.slice"}})"},
      {R"({"Big":12345678901234567890,"Neg":-5,"F":1.5,"U":"\u00e9\u0000"})",
       {.env = {{"A", "1"}}},
       "{\"Big\":12345678901234567890,\"Neg\":-5,\"F\":1.5,\"U\":\"\u00e9\\u0000\",\"Env\":[\"A=1\"]}"},
  };
  for (const Row& row : rows) {
    INFO(row.before);
    CreateBody body = read(row.before);
    body.apply(row.change, true);
    CHECK(body.text() == row.after);
  }
}

TEST_CASE("a sandbox's create") {
  CreateBody body = read(
      R"({"Labels":{"app":"web","annotation.a":"1","io.kubernetes.docker.type":"podsandbox"},"HostConfig":{"CgroupParent":"/kubepods/podu","CpuShares":2}})");
  CHECK(body.is_sandbox());
  const rpc::hooks::PodRequest asked = body.pod(*body.identity("k8s_POD_web_ns_u_0"), false);
  CHECK(asked.meta == rpc::hooks::PodMeta{.name = "web", .uid = "u", .ns = "ns"});
  CHECK(asked.runtime_handler == "docker");
  CHECK(asked.labels == Map{{"app", "web"}, {"io.kubernetes.docker.type", "podsandbox"}});
  CHECK(asked.annotations == Map{{"a", "1"}});
  CHECK(asked.cgroup_parent == "/kubepods/podu");
  CHECK(asked.resources->cpu_shares == 2);
  ResourceChange resources;
  resources.cpu_shares = 4;
  body.apply(PodChange{.labels = {{"app", "db"}}, .annotations = {{"b", "2"}}, .cgroup_parent = "/x/y"},
             resources, false);
  CHECK(
      body.text() ==
      R"({"Labels":{"app":"db","annotation.a":"1","io.kubernetes.docker.type":"podsandbox","annotation.b":"2"},"HostConfig":{"CgroupParent":"/x/y","CpuShares":4}})");
}

TEST_CASE("whose a create is, and what is none") {
  CHECK_FALSE(read(R"({"Image":"x"})").of_kubernetes());
  CHECK_FALSE(read(R"({"Labels":["io.kubernetes.docker.type"]})").of_kubernetes());
  CHECK_FALSE(read(R"({"Labels":{"io.kubernetes.docker.type":1}})").of_kubernetes());
  // Of labels alone, where the name tells nothing.
  const CreateBody labelled = read(
      R"({"Labels":{"io.kubernetes.docker.type":"container","io.kubernetes.container.name":"c","io.kubernetes.pod.name":"p","io.kubernetes.pod.namespace":"n","io.kubernetes.pod.uid":"u"}})");
  CHECK(labelled.identity("").value() ==
        Identity{.container = "c", .pod = {.name = "p", .uid = "u", .ns = "n"}});
  for (const char* none : {"", "[]", "null", "{", "{\"a\":1}x", "{\"a\":\"\xff\"}"}) {
    INFO(none);
    REQUIRE_FALSE(CreateBody::read(none).has_value());
    CHECK(CreateBody::read(none).error().code() == Code::parse);
    CHECK_FALSE(UpdateBody::read(none).has_value());
  }
  // Docker puts together what stands there twice: its labels would be those of a sandbox.
  for (const char* twice : {R"({"Labels":{"io.kubernetes.docker.type":"podsandbox"},"labels":{}})",
                            R"({"HostConfig":{"CpuShares":2},"X":1,"HostConfig":{"CpuQuota":1}})"}) {
    INFO(twice);
    REQUIRE_FALSE(CreateBody::read(twice).has_value());
    CHECK(CreateBody::read(twice).error().code() == Code::parse);
  }
  // Docker takes no such number; one that is written anew would be a whole one.
  for (const char* broken : {R"({"HostConfig":{"CpuPeriod":1000.0}})", R"({"HostConfig":{"memory":1e3}})",
                             R"({"HostConfig":{"Memory":9223372036854775808}})"}) {
    INFO(broken);
    REQUIRE_FALSE(CreateBody::read(broken).has_value());
    const std::string message(CreateBody::read(broken).error().message());
    CHECK(message.starts_with("HostConfig: "));
    CHECK(message.ends_with(": expected a whole number of 64 bits"));
  }
  CHECK_FALSE(UpdateBody::read(R"({"CpuShares":1.5})").has_value());
  CHECK(CreateBody::read(R"({"Image":"x","Image":"y"})").has_value());
  // Of other types than they should be: as if they were not there.
  const CreateBody odd = read(R"({"Labels":7,"Env":{"A":1},"HostConfig":["x"],"X":1})");
  CHECK(odd.container({}, true).resources == Resources{});
  CHECK(odd.container({}, true).env.empty());
}

// utils_test.go, Test_UpdateUpdateConfigByResource (1 row of 2): its OOM score has no place there, either.
TEST_CASE("an update") {
  auto body = UpdateBody::read(R"({"CpuPeriod":10,"CpuShares":20,"RestartPolicy":{"Name":"no"}})");
  REQUIRE(body.has_value());
  CHECK(body->resources().cpu_period == 10);
  CHECK(body->resources().cpu_shares == 20);
  ResourceChange change;
  change.cpu_period = 1000;
  change.cpu_shares = 1000;
  change.oom_score_adj = 10;
  body->apply(change);
  CHECK(body->text() == R"({"CpuPeriod":1000,"CpuShares":1000,"RestartPolicy":{"Name":"no"}})");
}

// utils_test.go, TestMergeResourceByUpdateConfig: 2 rows of 3 (the first has neither of both).
TEST_CASE("an update is laid over what is stored") {
  struct Row {
    Resources stored;
    const char* update;
    Resources now;
  };
  const Row rows[] = {
      {{.cpu_period = 20,
        .cpu_quota = 30,
        .cpu_shares = 10,
        .memory_limit = 40,
        .oom_score_adj = -998,
        .cpuset_cpus = {},
        .cpuset_mems = {},
        .hugepages = {},
        .unified = {},
        .memory_swap_limit = 50},
       R"({"CpuShares":100,"CpuPeriod":200,"CpuQuota":300,"CpusetCpus":"0-64","CpusetMems":"0-2","Memory":400,"MemorySwap":500})",
       {.cpu_period = 200,
        .cpu_quota = 300,
        .cpu_shares = 100,
        .memory_limit = 400,
        .oom_score_adj = -998,
        .cpuset_cpus = "0-64",
        .cpuset_mems = "0-2",
        .hugepages = {},
        .unified = {},
        .memory_swap_limit = 500}},
      {{.cpu_period = 10000,
        .cpu_quota = 10000,
        .cpu_shares = 1000,
        .oom_score_adj = -998,
        .cpuset_cpus = "0-63",
        .cpuset_mems = {},
        .hugepages = {},
        .unified = {},
        .memory_swap_limit = 1000},
       R"({"CpusetCpus":"0-31"})",
       {.cpu_period = 10000,
        .cpu_quota = 10000,
        .cpu_shares = 1000,
        .oom_score_adj = -998,
        .cpuset_cpus = "0-31",
        .cpuset_mems = {},
        .hugepages = {},
        .unified = {},
        .memory_swap_limit = 1000}},
  };
  for (const Row& row : rows) {
    INFO(row.update);
    Resources now = row.stored;
    merge_update(now, UpdateBody::read(row.update)->resources());
    CHECK(now == row.now);
  }
}

// utils_test.go, Test_UpdateHostConfigByResource: 1 row of 2 (the other has neither of both).
TEST_CASE("a hook's resources in a create") {
  CreateBody body = read(R"({"HostConfig":{"CpuPeriod":10,"CpuShares":20,"OomScoreAdj":20}})");
  const auto asked = body.container({}, false);
  auto now = asked;
  Resources said;
  said.cpu_period = said.cpu_shares = 1000;
  said.oom_score_adj = 10;
  merge_resources(*now.resources, said);
  body.apply(difference(asked, now), false);
  CHECK(body.text() == R"({"HostConfig":{"CpuPeriod":1000,"CpuShares":1000,"OomScoreAdj":10}})");
}

TEST_CASE("what docker says of what it has") {
  CHECK(*read_created(R"({"Id":"abc","Warnings":[]})") == "abc");
  CHECK_FALSE(read_created(R"({"message":"no"})").has_value());
  CHECK_FALSE(read_created("").has_value());
  CHECK(*read_systemd(R"({"CgroupDriver":"systemd"})"));
  CHECK_FALSE(*read_systemd(R"({"CgroupDriver":"cgroupfs"})"));

  const auto listed = read_list(
      R"([{"Id":"id1","Names":["/x/y","/k8s_POD_web_ns_u_1"],"Labels":{"app":"web","io.kubernetes.docker.type":"podsandbox"}},
          {"Id":"id2","Names":["/k8s_main_web_ns_u_1"],"Labels":{"annotation.n":"1","io.kubernetes.docker.type":"container","io.kubernetes.sandbox.id":"id1"}},
          {"Id":"id3","Names":["/other"],"Labels":{}}, {"Id":"id4","Names":["/bad"],"Labels":{"io.kubernetes.docker.type":"container"}}, 7, {}])");
  REQUIRE(listed.has_value());
  REQUIRE(listed->pods.size() == 1);
  CHECK(listed->pods[0].id == "id1");
  CHECK(listed->pods[0].pod.meta == rpc::hooks::PodMeta{.name = "web", .uid = "u", .ns = "ns"});
  CHECK(listed->pods[0].pod.labels == Map{{"app", "web"}, {"io.kubernetes.docker.type", "podsandbox"}});
  REQUIRE(listed->containers.size() == 1);
  CHECK(listed->containers[0].sandbox == "id1");
  CHECK(listed->containers[0].meta == rpc::hooks::ContainerMeta{.name = "main", .attempt = 1, .id = "id2"});
  CHECK(listed->containers[0].annotations == Map{{"n", "1"}});

  const auto inspected = read_inspected(
      R"({"Id":"id2","Name":"/k8s_main_web_ns_u_1","Config":{"Labels":{"io.kubernetes.docker.type":"container","io.kubernetes.sandbox.id":"id1"},"Env":["A=1","PATH=/bin"]},"HostConfig":{"Memory":7,"CgroupParent":"x.slice"}})");
  REQUIRE(inspected.has_value());
  CHECK(inspected->of_kubernetes);
  CHECK_FALSE(inspected->sandbox);
  CHECK(inspected->sandbox_id == "id1");
  CHECK(inspected->resources.memory_limit == 7);
  CHECK(inspected->cgroup_parent == "x.slice");
  CHECK(inspected->env == Map{{"A", "1"}, {"PATH", "/bin"}});
  CHECK_FALSE(read_inspected(R"({"Id":"id3","Name":"/other","Config":{"Labels":null}})")->of_kubernetes);
  CHECK_FALSE(read_inspected(R"({"Name":"/other"})").has_value());
}

}  // namespace
}  // namespace koord::proxy::docker
