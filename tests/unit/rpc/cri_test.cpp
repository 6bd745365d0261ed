// The CRI's messages: what hooks are told of them, and that nothing but what hooks say is changed.
#include "koord/rpc/cri.hpp"

#include <catch2/catch.hpp>

#include "support/wire.hpp"

using namespace koord;
using namespace koord::rpc;
using hooks::Map;
using test::wire::field;
using test::wire::number;
using test::wire::pair;

namespace {

std::string join(std::initializer_list<std::string> parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// With fields that this program does not know, here and there.
std::string container_config() {
  return join(
      {field(1, join({field(1, "web"), number(2, 3), field(9, "new in the metadata")})), field(2, "an image"),
       field(3, "sh"), pair(6, "B", "2"), pair(6, "A", "1"), pair(6, "B", "3"), pair(6, "RAW", "\xff\xfe"),
       field(7, "a mount"), pair(9, "label", "of the container"), pair(10, "z", "last"),
       pair(10, "a", "first"),
       field(15, join({field(1, join({number(1, 100000), number(3, 512), number(5, -997), field(6, "0-3"),
                                      field(8, join({field(1, "2Mi"), number(2, 7), number(3, 1)})),
                                      pair(9, "memory.high", "1"), number(99, 5)})),
                       field(2, "a security context")})),
       number(1234, 42)});
}
std::string create_request() {
  return join(
      {field(1, "sandbox-1"), field(2, container_config()),
       field(3, join({field(1, join({field(1, "pod"), field(2, "uid"), field(3, "ns"), number(4, 2)})),
                      pair(6, "l", "v"), field(8, join({field(1, "/kubepods/podX"), field(2, "sc")}))})),
       field(77, "of the request")});
}

}  // namespace

TEST_CASE("CreateContainer: hooks are told what the message has", "[cri]") {
  const auto message = cri::CreateContainer::read(create_request());
  REQUIRE(message.has_value());
  CHECK(message->sandbox_id() == "sandbox-1");
  const hooks::ContainerRequest asked = message->asked();
  CHECK(asked.meta == hooks::ContainerMeta{.name = "web", .attempt = 3, .id = {}});
  CHECK(asked.annotations == Map{{"a", "first"}, {"z", "last"}});
  CHECK(asked.env == Map{{"A", "1"}, {"B", "3"}});  // what is no text cannot be told; of two the last
  REQUIRE(asked.resources);
  CHECK(*asked.resources == hooks::Resources{.cpu_period = 100000,
                                             .cpu_shares = 512,
                                             .oom_score_adj = -997,
                                             .cpuset_cpus = "0-3",
                                             .cpuset_mems = {},
                                             .hugepages = {{"2Mi", 7}},
                                             .unified = {{"memory.high", "1"}}});
  CHECK(asked.pod_cgroup_parent == "/kubepods/podX");
  const hooks::PodRequest pod = message->sandbox();
  CHECK(pod.meta == hooks::PodMeta{.name = "pod", .uid = "uid", .ns = "ns", .attempt = 0});
  CHECK(pod.labels == Map{{"l", "v"}});
}

TEST_CASE("CreateContainer: what no hook speaks of stays, byte for byte", "[cri]") {
  auto message = cri::CreateContainer::read(create_request());
  REQUIRE(message.has_value());
  message->apply({.annotations = {{"a", "new"}, {"b", "added"}},
                  .resources = {.cpu_shares = 2,
                                .cpuset_cpus = "4-5",
                                .hugepages = {{"2Mi", 9}, {"1Gi", 1}},
                                .unified = {}},
                  .pod_cgroup_parent = "/offline",
                  .env = {{"B", "9"}, {"C", "4"}},
                  .env_removed = {"A"}});
  const std::string bytes = message->bytes();
  // Unknown fields, at each depth.
  for (const std::string& kept :
       {field(77, "of the request"), field(9, "new in the metadata"), field(2, "an image"),
        field(7, "a mount"), pair(9, "label", "of the container"), number(1234, 42), number(99, 5),
        field(2, "a security context"), field(2, "sc"), pair(6, "RAW", "\xff\xfe")})
    CHECK(contains(bytes, kept));
  // The environment keeps its order, its doubles and what is no text; what is new comes last.
  CHECK(contains(
      bytes, join({pair(6, "B", "2"), pair(6, "B", "9"), pair(6, "RAW", "\xff\xfe"), pair(6, "C", "4")})));
  CHECK_FALSE(contains(bytes, field(1, "A")));
  CHECK(contains(bytes, join({pair(10, "z", "last"), pair(10, "a", "new"), pair(10, "b", "added")})));
  CHECK(contains(bytes, join({field(1, "2Mi"), number(2, 9), number(3, 1)})));
  const auto again = cri::CreateContainer::read(bytes);
  REQUIRE(again.has_value());
  const hooks::ContainerRequest now = again->asked();
  CHECK(now.resources->cpuset_cpus == "4-5");
  CHECK(now.resources->cpu_shares == 2);
  CHECK(now.resources->cpu_period == 100000);
  CHECK(now.resources->oom_score_adj == -997);
  CHECK(now.resources->hugepages == std::vector<hooks::HugepageLimit>{{"2Mi", 9}, {"1Gi", 1}});
  CHECK(now.resources->unified == Map{{"memory.high", "1"}});
  CHECK(now.pod_cgroup_parent == "/offline");
}

TEST_CASE("Messages without what a hook sets get it", "[cri]") {
  auto create = cri::CreateContainer::read(field(1, "s"));
  REQUIRE(create.has_value());
  create->apply({.annotations = {},
                 .resources = {.cpu_shares = 2, .hugepages = {}, .unified = {}},
                 .pod_cgroup_parent = "/p",
                 .env = {},
                 .env_removed = {}});
  const auto again = cri::CreateContainer::read(create->bytes());
  REQUIRE(again.has_value());
  CHECK(again->asked().resources->cpu_shares == 2);
  CHECK(again->asked().pod_cgroup_parent == "/p");

  auto run = cri::RunPodSandbox::read("");
  REQUIRE(run.has_value());
  run->apply({.labels = {{"l", "1"}}, .annotations = {}, .cgroup_parent = "/p"});
  const auto sandbox = cri::RunPodSandbox::read(run->bytes());
  REQUIRE(sandbox.has_value());
  CHECK(sandbox->asked().cgroup_parent == "/p");
  CHECK(sandbox->asked().labels == Map{{"l", "1"}});

  auto update = cri::UpdateContainerResources::read(field(1, "c"));
  REQUIRE(update.has_value());
  CHECK_FALSE(update->resources());
  update->apply({.annotations = {{"a", "1"}},
                 .resources = {.cpu_quota = -1, .hugepages = {}, .unified = {}},
                 .pod_cgroup_parent = {},
                 .env = {},
                 .env_removed = {}});
  const auto updated = cri::UpdateContainerResources::read(update->bytes());
  REQUIRE(updated.has_value());
  CHECK(updated->container_id() == "c");
  REQUIRE(updated->resources());
  CHECK(updated->resources()->cpu_quota == -1);
  CHECK(updated->annotations() == Map{{"a", "1"}});
}

TEST_CASE("RunPodSandbox: what hooks are told", "[cri]") {
  const std::string bytes =
      join({field(1, join({field(1, join({field(1, "pod"), field(2, "uid"), field(3, "ns"), number(4, 5)})),
                           field(2, "hostname"), pair(6, "l", "1"), pair(7, "a", "2"),
                           field(8, join({field(1, "/kubepods"), pair(3, "net.x", "1")}))})),
            field(2, "runc")});
  const auto message = cri::RunPodSandbox::read(bytes);
  REQUIRE(message.has_value());
  CHECK(message->asked() == hooks::PodRequest{.meta = {.name = "pod", .uid = "uid", .ns = "ns", .attempt = 0},
                                              .runtime_handler = "runc",
                                              .labels = {{"l", "1"}},
                                              .annotations = {{"a", "2"}},
                                              .cgroup_parent = "/kubepods",
                                              .overhead = {},
                                              .resources = {}});
}

TEST_CASE("Ids, and what is no message", "[cri]") {
  CHECK(cri::read_id(join({field(1, "abc"), number(2, 30)})).value() == "abc");
  CHECK(cri::read_id("").value().empty());
  CHECK_FALSE(cri::read_id("\x0a\x7f").has_value());
  CHECK_FALSE(cri::CreateContainer::read("\x0a\x7f").has_value());
  CHECK_FALSE(cri::RunPodSandbox::read("\x12").has_value());
  CHECK_FALSE(cri::UpdateContainerResources::read("\xff\xff\xff\xff").has_value());
}

TEST_CASE("What a back end lists", "[cri]") {
  const auto pods = cri::read_sandboxes(
      field(1, join({field(1, "p1"), field(2, join({field(1, "pod"), field(2, "uid"), field(3, "ns")})),
                     number(4, 1), pair(5, "l", "1"), pair(6, "a", "2"), field(7, "runc")})));
  REQUIRE(pods.has_value());
  REQUIRE(pods->size() == 1);
  CHECK(pods->front().id == "p1");
  CHECK(pods->front().pod.labels == Map{{"l", "1"}});
  CHECK(pods->front().pod.runtime_handler == "runc");
  const auto containers = cri::read_containers(
      field(1, join({field(1, "c1"), field(2, "p1"), field(3, join({field(1, "web"), number(2, 2)})),
                     pair(9, "a", "1")})));
  REQUIRE(containers.has_value());
  REQUIRE(containers->size() == 1);
  CHECK(containers->front().sandbox == "p1");
  CHECK(containers->front().meta == hooks::ContainerMeta{.name = "web", .attempt = 2, .id = "c1"});
  CHECK(cri::verbose_status_of("c1") == join({field(1, "c1"), number(2, 1)}));
}

TEST_CASE("Verbose status of containerd's and CRI-O's", "[cri]") {
  const auto status = [](const std::string& json) {
    return join({field(1, join({field(1, "p1"), field(2, field(1, "pod"))})), pair(2, "info", json)});
  };
  CHECK(
      cri::read_sandbox_status(status(R"({"config":{"linux":{"cgroup_parent":"/kubepods/burstable/podX"}}})"))
          ->pod.cgroup_parent == "/kubepods/burstable/podX");
  CHECK(
      cri::read_sandbox_status(
          status(
              R"({"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.CgroupParent":"kubepods-podX.slice"}}})"))
          ->pod.cgroup_parent == "kubepods-podX.slice");
  CHECK(cri::read_sandbox_status(status(R"({"runtimeSpec":{"linux":{"cgroupsPath":"/kubepods/podX/p1"}}})"))
            ->pod.cgroup_parent == "/kubepods/podX");
  for (const char* none :
       {"", "{", "[]", "{}", R"({"runtimeSpec":{"linux":{"cgroupsPath":"x.slice:cri:p1"}}})"})
    CHECK(cri::read_sandbox_status(status(none))->pod.cgroup_parent.empty());

  const char* info =
      R"({"sandboxID":"p1","config":{"envs":[{"key":"A","value":"MQ=="},{"key":"B","value":"two"}],)"
      R"("linux":{"resources":{"cpu_period":100000,"cpu_quota":"-1","oom_score_adj":-997,"cpuset_cpus":"0",)"
      R"("unified":{"k":"v"},"hugepage_limits":[{"page_size":"2Mi","limit":4}]}}},)"
      R"("runtimeSpec":{"process":{"env":["PATH=/bin","A=1","B=two=2","nonsense"]}}})";
  const auto details = cri::read_container_status(
      join({field(1, join({field(1, "c1"), field(2, field(1, "web")), pair(13, "a", "1")})),
            pair(2, "info", info)}));
  REQUIRE(details.has_value());
  CHECK(details->sandbox == "p1");
  CHECK(details->env == Map{{"A", "1"}, {"B", "two=2"}});
  CHECK(details->resources == hooks::Resources{.cpu_period = 100000,
                                               .cpu_quota = -1,
                                               .oom_score_adj = -997,
                                               .cpuset_cpus = "0",
                                               .cpuset_mems = {},
                                               .hugepages = {{"2Mi", 4}},
                                               .unified = {{"k", "v"}}});
  // What the interface itself tells is newer than what the container was made with.
  const auto newer =
      cri::read_container_status(join({field(1, field(16, field(1, number(3, 77)))), pair(2, "info", info)}));
  REQUIRE(newer.has_value());
  CHECK(newer->resources->cpu_shares == 77);
  CHECK(newer->resources->cpu_period == 0);
  CHECK_FALSE(cri::read_container_status(field(1, field(1, "c1")))->env);
}
