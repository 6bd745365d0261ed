// Informers, election and events against a real API server, also one that is killed under load.
#include "koord/kube/informer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "koord/api/lists/list_decoder.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/kube/leader_election.hpp"
#include "support/server_version.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;
using api::ConfigMap;

namespace {

struct Cluster {
  asio::io_context context{1};
  SystemClock clock{context.get_executor()};
  std::unique_ptr<Transport> transport;
  std::optional<Client> client;
  TaskGroup group{context.get_executor()};
  std::string ns = "informer-" + make_identity("x").substr(2, 8);

  Cluster() {
    const auto config = load_kubeconfig(std::getenv("KOORD_KUBE_KUBECONFIG"));
    REQUIRE(config.has_value());
    auto made = make_transport(context.get_executor(), clock, *config);
    REQUIRE(made.has_value());
    transport = std::move(*made);
    client.emplace(*transport, clock, Client::Options{});
  }

  /// Runs a task to its end; it fails the test when it takes more than two minutes.
  void run(Task<Result<>> task) {
    std::optional<Result<>> result;
    std::exception_ptr thrown;
    Task<Result<>> bounded = with_timeout(clock, 2min, std::move(task));
    asio::co_spawn(context, std::move(bounded), [&](std::exception_ptr e, Result<> r) {
      thrown = e;
      result = std::move(r);
      context.stop();
    });
    context.restart();
    context.run();
    if (thrown) std::rethrow_exception(thrown);
    REQUIRE(result.has_value());
    INFO((*result ? "" : result->error().message()));
    CHECK(result->has_value());
  }
  Task<Result<>> make_namespace() {
    std::string body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + ns + R"("}})";
    KOORD_CO_CHECK(co_await client->create_raw(api::kind<api::Namespace>(), "", std::move(body)));
    co_return Result<>();
  }
  /// Again and again until the server has it; it may have stored a try whose answer was lost.
  Task<Result<>> write(std::string name, int value) {
    for (;;) {
      ObjectKey key{ns, name};
      std::string patch = R"({"data":{"n":")" + std::to_string(value) + R"("}})";
      PatchOptions options;
      const auto patched = co_await client->patch_raw(api::kind<ConfigMap>(), std::move(key),
                                                      std::move(patch), std::move(options));
      if (patched) co_return Result<>();
      if (patched.error().code() == Code::not_found) {
        std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                           R"("},"data":{"n":")" + std::to_string(value) + R"("}})";
        const auto made = co_await client->create_raw(api::kind<ConfigMap>(), ns, std::move(body));
        if (made) co_return Result<>();
      }
      KOORD_CO_CHECK(co_await sleep(clock, 50ms));
    }
  }
};

/// What a consumer has been told.
struct Follower {
  DeliveryQueue queue;
  std::map<std::string, std::string> seen;
  bool consistent = true;  // each `before` is what was told last
  Task<Result<>> run() {
    for (;;) {
      const Result<Batch> batch = co_await queue.next();
      if (!batch) co_return Result<>();
      for (const Change& change : batch->changes) {
        const auto before = change.old_object<ConfigMap>(), after = change.new_object<ConfigMap>();
        const std::string& name = (after ? after : before)->metadata.name;
        const auto known = seen.find(name);
        if (before && (known == seen.end() || known->second != before->metadata.resource_version))
          consistent = false;
        if (!before && known != seen.end()) consistent = false;
        if (after)
          seen[name] = after->metadata.resource_version;
        else
          seen.erase(name);
      }
    }
  }
};

bool cluster_command(const char* verb) {
  const char* dir = std::getenv("KOORD_KUBE_DIR");
  const std::string command = std::string(std::getenv("KOORD_KUBE_CLUSTER")) + " " + verb + " " + dir;
  return std::system(command.c_str()) == 0;
}

struct Scene : Cluster {
  InformerSet set{context.get_executor(), clock};
  Follower follower;
  Informer<ConfigMap> maps = set.informer<ConfigMap>(*client, {.ns = ns});

  Task<Result<>> begin() {
    KOORD_CO_CHECK(co_await make_namespace());
    maps.deliver_to(follower.queue);
    set.start();
    group.spawn("follower", follower.run());
    co_return co_await maps.wait_synced();
  }
  /// Waits until the informer has what the server has.
  Task<Result<>> same_as_server() {
    for (;;) {
      ListOptions options;
      options.ns = ns;
      const auto body = co_await client->list_raw(api::kind<ConfigMap>(), std::move(options));
      std::map<std::string, std::string> there, here;
      if (body) {
        const auto page = api::decode_list<ConfigMap>(
            *body,
            [&](std::shared_ptr<const ConfigMap> map) {
              there[map->metadata.name] = map->metadata.resource_version;
            },
            [](const ConfigMap&, const Error&) {});
        CHECK(page.has_value());
      }
      for (const auto& map : maps.list()) here[map->metadata.name] = map->metadata.resource_version;
      const bool same = body && there == here && there == follower.seen;
      if (same) co_return Result<>();
      KOORD_CO_CHECK(co_await sleep(clock, 100ms));
    }
  }
  Task<Result<>> end() {
    follower.queue.close();
    co_await set.stop();
    co_await group.stop(clock, 5s);
    co_return Result<>();
  }
};

}  // namespace

TEST_CASE("an informer follows a real server, and reads what was there") {
  struct Test : Scene {
    Task<Result<>> body() {
      KOORD_CO_CHECK(co_await begin());
      for (int i = 0; i < 50; ++i) KOORD_CO_CHECK(co_await write("m" + std::to_string(i % 20), i));
      KOORD_CO_CHECK(co_await client->remove(api::kind<ConfigMap>(), ObjectKey{ns, "m3"}));
      KOORD_CO_CHECK(co_await same_as_server());
      CHECK(maps.status().lists == (test::server_has_watch_lists() ? 0 : 1));
      CHECK(maps.status().failures == 0);
      co_return co_await end();
    }
  } test;
  test.run(test.body());
  CHECK(test.follower.consistent);
}

TEST_CASE("an API server that is killed and started under load loses nothing", "[killed]") {
  if (std::getenv("KOORD_KUBE_DIR") == nullptr || std::getenv("KOORD_KUBE_CLUSTER") == nullptr) {
    WARN("KOORD_KUBE_DIR or KOORD_KUBE_CLUSTER is unset: the API server cannot be restarted");
    return;
  }
  struct Test : Scene {
    bool done = false;
    Task<Result<>> load() {
      for (int i = 0; !done; ++i) KOORD_CO_CHECK(co_await write("m" + std::to_string(i % 100), i));
      co_return Result<>();
    }
    Task<Result<>> body() {
      KOORD_CO_CHECK(co_await begin());
      group.spawn("load", load());
      KOORD_CO_CHECK(co_await sleep(clock, 1s));
      CHECK(cluster_command("stop-apiserver"));
      KOORD_CO_CHECK(co_await sleep(clock, 2s));
      CHECK(cluster_command("start-apiserver"));
      KOORD_CO_CHECK(co_await sleep(clock, 3s));
      done = true;
      KOORD_CO_CHECK(co_await same_as_server());
      CHECK(maps.size() > 0);
      co_return co_await end();
    }
  } test;
  test.run(test.body());
  CHECK(test.follower.consistent);
}

TEST_CASE("a history that is compacted while nobody looks is listed again") {
  if (std::getenv("KOORD_KUBE_DIR") == nullptr || std::getenv("KOORD_KUBE_CLUSTER") == nullptr) {
    WARN("KOORD_KUBE_DIR or KOORD_KUBE_CLUSTER is unset: etcd cannot be told to compact");
    return;
  }
  struct Test : Scene {
    /// On an event loop of its own: the informer's stands still meanwhile.
    struct Elsewhere : Cluster {
      Task<Result<>> change(int from, int to, int value) {
        for (int i = from; i < to; ++i) KOORD_CO_CHECK(co_await write("m" + std::to_string(i), value));
        KOORD_CO_CHECK(
            co_await client->remove(api::kind<ConfigMap>(), ObjectKey{ns, "m" + std::to_string(from)}));
        co_return Result<>();
      }
    };
    Task<Result<>> body() {
      KOORD_CO_CHECK(co_await begin());
      for (int i = 0; i < 30; ++i) KOORD_CO_CHECK(co_await write("m" + std::to_string(i), 1));
      KOORD_CO_CHECK(co_await same_as_server());
      Elsewhere elsewhere;
      elsewhere.ns = ns;
      elsewhere.run(elsewhere.change(20, 40, 2));
      CHECK(cluster_command("stop-apiserver"));
      CHECK(cluster_command("compact"));
      CHECK(cluster_command("start-apiserver"));
      elsewhere.run(elsewhere.change(35, 45, 3));
      KOORD_CO_CHECK(co_await same_as_server());
      CHECK(maps.status().expired > 0);
      CHECK(follower.seen.count("m20") + follower.seen.count("m35") == 0);
      co_return co_await end();
    }
  } test;
  test.run(test.body());
  CHECK(test.follower.consistent);
}

TEST_CASE("two electors on a real Lease, and an event about it") {
  struct Test : Cluster {
    LeaderElectionConfig config(std::string who) {
      return {.lease_namespace = ns, .lease_name = "race", .identity = std::move(who), .retry_period = 500ms};
    }
    Task<Result<>> lead(LeaderElection& election) {
      KOORD_CO_CHECK(co_await election.acquire());
      co_return co_await election.hold();
    }
    Task<Result<>> body() {
      KOORD_CO_CHECK(co_await make_namespace());
      LeaderElection a(*client, clock, config("a")), b(*client, clock, config("b"));
      TaskGroup first(context.get_executor()), second(context.get_executor());
      first.spawn("a", lead(a));
      while (!a.leading()) KOORD_CO_CHECK(co_await sleep(clock, 20ms));
      second.spawn("b", lead(b));
      KOORD_CO_CHECK(co_await sleep(clock, 1500ms));
      CHECK(a.leading());
      CHECK_FALSE(b.leading());
      co_await first.stop(clock, 5s);
      while (!b.leading()) KOORD_CO_CHECK(co_await sleep(clock, 20ms));
      CHECK_FALSE(a.leading());
      co_await second.stop(clock, 5s);

      EventRecorder recorder(context.get_executor(), *client, clock,
                             {.controller = "koord", .instance = "koord-t"});
      const EventObject lease{"coordination.k8s.io", "v1", "Lease", ns, "race", "", ""};
      for (int i = 0; i < 3; ++i)
        recorder.record({.regarding = lease,
                         .reason = "LeaderElection",
                         .action = "Elect",
                         .note = "b became \"leader\""});
      co_await recorder.stop(5s);
      CHECK(recorder.counts().failed == 0);
      CHECK(recorder.counts().written >= 2);
      co_return Result<>();
    }
  } test;
  test.run(test.body());
}
