// The store: what is known of sandboxes and containers, as a state and as the text of its file.
#include "store/store.hpp"

#include <catch2/catch.hpp>

#include "store/store_text.hpp"

using namespace koord;
using namespace koord::proxy;

namespace {

PodEntry pod(const std::string& name) {
  PodEntry entry;
  entry.pod = {.meta = {.name = name, .uid = "u", .ns = "n"},
               .runtime_handler = "runc",
               .labels = {{"l", "1"}},
               .annotations = {{"a", "\"quoted\"\n"}},
               .cgroup_parent = "/kubepods/podX",
               .overhead = {},
               .resources = {}};
  return entry;
}
ContainerEntry container(const std::string& sandbox, const std::string& id) {
  ContainerEntry entry;
  entry.sandbox = sandbox;
  entry.meta = {.name = "web", .attempt = 3, .id = id};
  entry.annotations = {{"a", "1"}};
  entry.resources = {.cpu_period = 100000,
                     .cpu_quota = -1,
                     .cpu_shares = 2,
                     .memory_limit = std::int64_t{1} << 40,
                     .oom_score_adj = -997,
                     .cpuset_cpus = "0-3",
                     .cpuset_mems = "0",
                     .hugepages = {{"2Mi", std::uint64_t{18446744073709551615U}}},
                     .unified = {{"memory.high", "max"}},
                     .memory_swap_limit = 5};
  entry.pod_cgroup_parent = "/kubepods/podX";
  return entry;
}
rpc::cri::ListedSandbox listed(const std::string& id) { return {.id = id, .pod = {}}; }
rpc::cri::ListedContainer listed(const std::string& id, const std::string& sandbox) {
  return {.id = id, .sandbox = sandbox, .meta = {}, .annotations = {}};
}

}  // namespace

TEST_CASE("Entries come, change and go", "[store]") {
  Store store;
  CHECK(store.put("p1", pod("one")));
  CHECK(store.put("c1", container("p1", "c1")));
  CHECK(store.put("c2", container("p2", "c2")));
  REQUIRE(store.pod("p1"));
  CHECK(store.pod("p1")->pod.meta.name == "one");
  CHECK_FALSE(store.pod("c1"));
  store.replace("p1", pod("renamed"));
  store.replace("p9", pod("removed meanwhile"));
  CHECK(store.pod("p1")->pod.meta.name == "renamed");
  CHECK_FALSE(store.pod("p9"));
  const auto held = store.container("c1");
  store.remove_pod("p1");
  CHECK_FALSE(store.container("c1"));
  CHECK(held->meta.name == "web");  // who has it keeps it
  CHECK(store.container("c2"));
  store.remove_container("c2");
  CHECK(store.bytes() == 0);
}

TEST_CASE("It has an end", "[store]") {
  Store store;
  CHECK_FALSE(store.put("", pod("x")));
  CHECK_FALSE(store.put(std::string(257, 'x'), pod("x")));
  PodEntry fat = pod("fat");
  fat.pod.annotations = {{"a", std::string(Store::kMostBytes / 3, 'x')}};
  CHECK(store.put("1", fat));
  CHECK(store.put("2", fat));
  CHECK_FALSE(store.put("3", fat));
  CHECK(store.put("4", pod("thin")));
  CHECK(store.put("2", fat));  // in its own place
  // What grew beyond the end is not what it was: it is asked for anew.
  PodEntry fatter = fat;
  fatter.pod.labels = {{"l", std::string(Store::kMostBytes / 3, 'x')}};
  store.replace("2", fatter);
  CHECK_FALSE(store.pod("2"));
  for (std::size_t i = store.pods(); i < Store::kMostPods; ++i)
    store.put(std::to_string(i + 100), PodEntry());
  CHECK(store.pods() == Store::kMostPods);
  CHECK_FALSE(store.put("one more", PodEntry()));
}

TEST_CASE("What the back end lists, and no more", "[store]") {
  Store store;
  store.put("p1", pod("one"));
  store.put("p2", pod("two"));
  store.put("c1", container("p1", "c1"));
  store.put("c2", container("p2", "c2"));
  const auto began = store.changes();
  store.put("p3", pod("made while the lists were on their way"));
  store.put("c3", container("p3", "c3"));
  const auto missing =
      store.reconcile({listed("p1"), listed("p9")}, {listed("c2", "p2"), listed("c9", "p9")}, began);
  REQUIRE(missing.pods.size() == 1);
  CHECK(missing.pods[0].id == "p9");
  REQUIRE(missing.containers.size() == 1);
  CHECK(missing.containers[0].id == "c9");
  CHECK(store.pod("p1"));
  CHECK_FALSE(store.pod("p2"));
  CHECK(store.pod("p3"));
  CHECK_FALSE(store.container("c1"));
  CHECK(store.container("c2"));
  CHECK(store.container("c3"));
}

TEST_CASE("As a text and back, without the environment", "[store]") {
  Store store;
  PodEntry stopped = pod("stopped");
  stopped.stopped = true;
  store.put("p1", pod("one"));
  store.put("p2", stopped);
  ContainerEntry secret = container("p1", "c1");
  secret.env = rpc::hooks::Map{{"PASSWORD", "hunter2"}};
  secret.stopped = true;
  store.put("c1", secret);
  ContainerEntry bare;
  bare.meta.id = "c2";
  store.put("c2", bare);
  const std::string text = store_text(store.all());
  CHECK(text.find("hunter2") == std::string::npos);
  CHECK(text.find("PASSWORD") == std::string::npos);
  Store again;
  REQUIRE(read_store(text, again).has_value());
  CHECK(*again.pod("p1") == pod("one"));
  CHECK(*again.pod("p2") == stopped);
  secret.env.reset();
  CHECK(*again.container("c1") == secret);
  CHECK(*again.container("c2") == bare);
  CHECK(store_text(again.all()) == text);
}

TEST_CASE("Texts that are no store's leave it empty", "[store]") {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"[]", "not a store's text"},
      {"{}", "version: not a whole number"},
      {R"({"version":2})", "version: 2, not 1"},
      {R"({"version":1,"pods":[{"id":"a"},7]})", "pods[1]: not an object"},
      {R"({"version":1,"pods":[{"id":7}]})", "pods[0].id: not a text"},
      {R"({"version":1,"pods":[{"id":"a","labels":{"l":1}}]})", "pods[0].labels: has what is no text"},
      {R"({"version":1,"containers":[{"id":"a","attempt":"1"}]})",
       "containers[0].attempt: not a whole number"},
      {R"({"version":1,"containers":[{"id":"a","resources":{"cpuShares":0.5}}]})",
       "containers[0].resources.cpuShares: not a whole"},
      {R"({"version":1,"containers":[{"id":"a","resources":{"hugepages":[3]}}]})",
       "containers[0].resources.hugepages: not an object"},
  };
  for (const auto& [text, error] : rows) {
    CAPTURE(text);
    Store store;
    const auto read = read_store(text, store);
    REQUIRE_FALSE(read.has_value());
    CHECK_THAT(read.error().message(), Catch::Contains(error));
    CHECK(store.pods() + store.containers() == 0);
  }
}

TEST_CASE("What hooks are asked with about a container that there is", "[store]") {
  const ContainerEntry entry = container("p1", "c1");
  const PodEntry of = pod("one");
  const auto request = request_of(entry, &of);
  CHECK(request.pod == of.pod.meta);
  CHECK(request.pod_labels == of.pod.labels);
  CHECK(request.pod_annotations == of.pod.annotations);
  CHECK(request.meta.id == "c1");
  CHECK(request.resources == entry.resources);
  CHECK(request.env.empty());
  ContainerEntry taken = entry;
  auto said = request;
  said.annotations = {{"b", "2"}};
  said.env = {{"A", "1"}};
  take(taken, said);
  CHECK(taken.annotations == said.annotations);
  CHECK_FALSE(taken.env);  // not known before, not known now
}
