// The client against a real kube-apiserver (or the sandbox: whatever KUBECONFIG names).
#include "koord/kube/client.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/config.hpp"
#include "support/run_task.hpp"
#include "support/server_version.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;

namespace {

ClientConfig cluster_config() {
  const char* path = std::getenv("KOORD_KUBE_KUBECONFIG");
  auto config = load_kubeconfig(path != nullptr ? path : std::getenv("KUBECONFIG"));
  REQUIRE(config.has_value());
  return *config;
}

struct Cluster {
  test::Loop loop;
  SystemClock clock{loop.executor()};
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Client> client;

  explicit Cluster(const ClientConfig& config = cluster_config()) {
    auto made = make_transport(loop.executor(), clock, config);
    REQUIRE(made.has_value());
    transport = std::move(*made);
    client = std::make_unique<Client>(*transport, clock, Client::Options());
  }
  template <class T>
  T run(Task<T> task) {
    return test::run_task(loop, std::move(task), true);
  }
  /// A fresh namespace; errors fail the test.
  std::string make_namespace(const std::string& name) {
    api::Namespace ns;
    ns.metadata.generate_name = name + "-";
    const auto made = run(client->create(ns));
    REQUIRE(made.has_value());
    return made->metadata.name;
  }
  void make_node(const std::string& name) {
    const std::string json = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
                             R"("},"status":{"capacity":{"cpu":"8","memory":"16Gi","pods":"110"}}})";
    const auto made = run(client->create_raw(api::kind<api::Node>(), "", json));
    REQUIRE((made || made.error().code() == Code::already_exists));
  }
  void make_pod(const std::string& ns, const std::string& name) {
    const std::string json =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
        R"("},"spec":{"schedulerName":"nobody","containers":[{"name":"c","image":"i"}]}})";
    const auto made = run(client->create_raw(api::kind<api::Pod>(), ns, json));
    if (!made) FAIL(made.error().message());
  }
};

api::ConfigMap config_map(const std::string& ns, const std::string& name) {
  api::ConfigMap map;
  map.metadata.namespace_ = ns;
  map.metadata.name = name;
  map.data["key"] = "value";
  return map;
}

Task<Result<std::string>> watch_until(Client& client, const api::Kind& kind, WatchOptions options,
                                      std::string until) {
  KOORD_CO_TRY(stream, co_await client.watch(kind, std::move(options)));
  std::string seen;
  while (seen.find(until) == std::string::npos) {
    KOORD_CO_TRY(more, co_await stream->read(20s));
    if (more.empty()) co_return Error(Code::unavailable, "the watch ended: " + seen);
    seen += more;
  }
  co_return seen;
}

/// What there is, as a watch begins with it; of a server without watch-lists the first object.
Task<Result<std::string>> watch_from_the_beginning(Client& client, const api::Kind& kind, std::string ns) {
  WatchOptions options;
  options.ns = std::move(ns);
  options.send_initial_events = test::server_has_watch_lists();
  std::string until = options.send_initial_events ? "k8s.io/initial-events-end" : "\n";
  return watch_until(client, kind, std::move(options), std::move(until));
}

}  // namespace

TEST_CASE("objects are created, read, listed in pages, replaced and deleted") {
  Cluster c;
  const std::string ns = c.make_namespace("crud");
  const api::Kind& kind = api::kind<api::ConfigMap>();
  for (int i = 0; i < 7; ++i)
    REQUIRE(c.run(c.client->create(config_map(ns, "m" + std::to_string(i)))).has_value());
  CHECK(c.run(c.client->create(config_map(ns, "m0"))).error().code() == Code::already_exists);

  ListOptions options;
  options.ns = ns;
  options.field_selector = "metadata.name!=kube-root-ca.crt";
  options.limit = 3;
  const auto page = c.run(c.client->list<api::ConfigMap>(options));
  REQUIRE(page.has_value());
  CHECK(page->items.size() == 3);
  CHECK(!page->meta.continue_.empty());
  const auto all = c.run(c.client->list_pages<api::ConfigMap>(options));
  REQUIRE(all.has_value());
  CHECK(all->items.size() == 7);
  CHECK(all->bad.empty());

  auto text = c.run(c.client->get_raw(kind, {ns, "m1"}));
  REQUIRE(text.has_value());
  auto document = json::parse(*text);
  REQUIRE(document.has_value());
  json::set_text(*json::find(*document, "data"), "key", "changed", document->arena());
  const std::string edited = json::to_text(*document);
  REQUIRE(c.run(c.client->update_raw(kind, {ns, "m1"}, edited)).has_value());
  json::set_text(*json::find(*document, "data"), "key", "again", document->arena());
  const auto conflict = c.run(c.client->update_raw(kind, {ns, "m1"}, json::to_text(*document)));
  REQUIRE(conflict.has_error());
  CHECK(conflict.error().code() == Code::conflict);

  DeleteOptions wrong;
  wrong.uid = "00000000-0000-0000-0000-000000000000";
  CHECK(c.run(c.client->remove<api::ConfigMap>({ns, "m1"}, wrong)).error().code() == Code::conflict);
  CHECK(c.run(c.client->remove<api::ConfigMap>({ns, "m1"})).has_value());
  CHECK(c.run(c.client->get<api::ConfigMap>({ns, "m1"})).error().code() == Code::not_found);
  CHECK(c.run(c.client->get<api::ConfigMap>({ns, "m2"}))->metadata.name == "m2");
}

TEST_CASE("patches of every kind, and the one that diff makes") {
  Cluster c;
  const std::string ns = c.make_namespace("patch");
  const api::Kind& kind = api::kind<api::ConfigMap>();
  REQUIRE(c.run(c.client->create(config_map(ns, "m"))).has_value());
  struct Row {
    api::PatchType type;
    const char* body;
    const char* key;
  };
  for (const Row& row :
       {Row{api::PatchType::merge, R"({"data":{"merge":"1"}})", "merge"},
        Row{api::PatchType::json, R"([{"op":"add","path":"/data/json","value":"1"}])", "json"},
        Row{api::PatchType::strategic, R"({"data":{"strategic":"1"}})", "strategic"},
        Row{api::PatchType::apply, R"({"apiVersion":"v1","kind":"ConfigMap","data":{"apply":"1"}})",
            "apply"}}) {
    PatchOptions options;
    options.type = row.type;
    options.field_manager = "koord-test";
    const auto got = c.run(c.client->patch_raw(kind, {ns, "m"}, row.body, options));
    if (!got) FAIL(got.error().message());
    const auto document = json::parse(*got);
    REQUIRE(document.has_value());
    CHECK(json::text_at(*document, "data", row.key) == "1");
  }
  const auto before = c.run(c.client->get<api::ConfigMap>({ns, "m"}));
  REQUIRE(before.has_value());
  api::ConfigMap after = *before;
  after.data["diff"] = "1";
  REQUIRE(c.run(c.client->patch(*before, after)).has_value());
  const auto now = c.run(c.client->get<api::ConfigMap>({ns, "m"}));
  REQUIRE(now.has_value());
  CHECK(now->data == after.data);
}

TEST_CASE("a pod is bound once, watched, evicted") {
  Cluster c;
  const std::string ns = c.make_namespace("bind");
  c.make_node("client-test-node");
  c.make_pod(ns, "p");
  const auto pod = c.run(c.client->get<api::Pod>({ns, "p"}));
  REQUIRE(pod.has_value());
  CHECK(c.run(c.client->bind({ns, "p"}, "00000000-0000-0000-0000-000000000000", "client-test-node"))
            .has_error());
  const auto bound = c.run(c.client->bind({ns, "p"}, pod->metadata.uid, "client-test-node"));
  if (!bound) FAIL(bound.error().message());
  CHECK(c.run(c.client->bind({ns, "p"}, pod->metadata.uid, "client-test-node")).error().code() ==
        Code::conflict);
  CHECK(c.run(c.client->bind({ns, "none"}, "", "client-test-node")).error().code() == Code::not_found);

  WatchOptions watch;
  watch.ns = ns;
  watch.resource_version = pod->metadata.resource_version;
  const auto seen =
      c.run(watch_until(*c.client, api::kind<api::Pod>(), watch, "\"nodeName\":\"client-test-node\""));
  REQUIRE(seen.has_value());
  CHECK_THAT(*seen, Catch::StartsWith("{\"type\":\"MODIFIED\""));
  const auto initial = c.run(watch_from_the_beginning(*c.client, api::kind<api::Pod>(), ns));
  REQUIRE(initial.has_value());
  CHECK_THAT(*initial, Catch::StartsWith("{\"type\":\"ADDED\""));

  DeleteOptions now;
  now.grace_period_seconds = 0;
  const auto evicted = c.run(c.client->evict({ns, "p"}, now));
  if (!evicted) FAIL(evicted.error().message());
  CHECK(c.run(c.client->get<api::Pod>({ns, "p"})).error().code() == Code::not_found);
}

TEST_CASE("the server's refusals are typed") {
  Cluster c;
  const std::string ns = c.make_namespace("errors");
  CHECK(c.run(c.client->get<api::Pod>({ns, "none"})).error().code() == Code::not_found);
  CHECK(c.run(c.client->create_raw(api::kind<api::Pod>(), ns, "{")).error().code() == Code::bad_request);
  const auto invalid =
      c.run(c.client->create_raw(api::kind<api::ConfigMap>(), ns,
                                 R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"A B"}})"));
  REQUIRE(invalid.has_error());
  CHECK(invalid.error().code() == Code::invalid);
  CHECK_THAT(invalid.error().message(), Catch::Contains("metadata.name"));
  // Larger than etcd takes: 413 or an error of the server, never a hang or a success.
  api::ConfigMap big = config_map(ns, "big");
  big.data["key"] = std::string(3'000'000, 'x');
  CHECK(c.run(c.client->create(big)).has_error());
}

TEST_CASE("a wrong token is unauthorized") {
  ClientConfig config = cluster_config();
  config.token = "wrong";
  config.client_cert_pem.clear();
  config.client_key_pem.clear();
  config.token_file.clear();
  Cluster c(config);
  const auto got = c.run(c.client->get_raw(api::kind<api::Node>(), {"", "n"}));
  REQUIRE(got.has_error());
  CHECK(got.error().code() == Code::unauthorized);
}

TEST_CASE("a token that is rotated is read again when the old one is refused") {
  const ClientConfig good = cluster_config();
  if (good.token.empty()) return;
  char name[] = "/tmp/koord-token-XXXXXX";
  const int fd = mkstemp(name);
  REQUIRE(fd >= 0);
  close(fd);
  std::ofstream(name) << "expired\n";
  ClientConfig config = good;
  config.token.clear();
  config.token_file = name;
  Cluster c(config);
  const auto expired = c.run(c.client->get<api::Namespace>({"", "default"}));
  REQUIRE(expired.has_error());
  CHECK(expired.error().code() == Code::unauthorized);
  std::ofstream(name) << good.token << "\n";
  CHECK(c.run(c.client->get<api::Namespace>({"", "default"})).has_value());
  CHECK(c.run(watch_from_the_beginning(*c.client, api::kind<api::Namespace>(), "")).has_value());
  std::remove(name);
}

TEST_CASE("objects over a megabyte are written, read and watched, larger ones are refused") {
  Cluster c;
  const std::string ns = c.make_namespace("large");
  auto pod = [](std::size_t size) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"large"},"spec":{"schedulerName":"nobody",)"
           R"("containers":[{"name":"c","image":"i","args":[")" +
           std::string(size, 'x') + R"("]}]}})";
  };
  const std::size_t size = 1'200'000;
  const auto made = c.run(c.client->create_raw(api::kind<api::Pod>(), ns, pod(size)));
  if (!made) FAIL(made.error().message());
  const auto read = c.run(c.client->get_raw(api::kind<api::Pod>(), {ns, "large"}));
  REQUIRE(read.has_value());
  CHECK(read->size() > size);
  const auto seen = c.run(watch_from_the_beginning(*c.client, api::kind<api::Pod>(), ns));
  REQUIRE(seen.has_value());
  CHECK(seen->size() > size);
  const auto refused = c.run(c.client->create_raw(api::kind<api::Pod>(), ns, pod(4'000'000)));
  REQUIRE(refused.has_error());
  CHECK(refused.error().code() == Code::too_large);
  CHECK(c.run(c.client->get<api::Pod>({ns, "large"})).has_value());
}

TEST_CASE("a server that its CA did not sign, or of another name, is not spoken to") {
  ClientConfig config = cluster_config();
  config.tls_server_name = "elsewhere.example";
  Cluster other_name(config);
  const auto named = other_name.run(other_name.client->get_raw(api::kind<api::Node>(), {"", "n"}));
  REQUIRE(named.has_error());
  CHECK(named.error().code() == Code::unavailable);
  CHECK_THAT(named.error().message(), Catch::Contains("not accepted for elsewhere.example"));
  config = cluster_config();
  config.ca_pem.clear();  // the machine's own authorities do not know it
  Cluster stranger(config);
  const auto unknown = stranger.run(stranger.client->get_raw(api::kind<api::Node>(), {"", "n"}));
  REQUIRE(unknown.has_error());
  CHECK(unknown.error().code() == Code::unavailable);
}
