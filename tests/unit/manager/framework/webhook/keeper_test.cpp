// WebhookKeeper against an API server that the test plays: who makes certificates, when they are renewed, and
// what becomes of a Secret that somebody garbles.
#include "framework/webhook/keeper.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/api/types/core_v1/secret.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/base64.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kSecret = "/api/v1/namespaces/ns/secrets/certs",
                           kMutating =
                               "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/m",
                           kValidating =
                               "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v";

/// Objects by path, with versions; and keepers of several replicas, on one clock.
struct World {
  World() {
    server.answer = [this](const net::Request& request) { return answer(request); };
    put(kMutating, R"({"kind":"MutatingWebhookConfiguration","metadata":{"name":"m"},"webhooks":[
      {"name":"pod","clientConfig":{"service":{"namespace":"x","name":"y","path":"/mutate-pod"}}},
      {"name":"quota","clientConfig":{"service":{"namespace":"x","name":"y","path":"/quota"}}}]})");
    put(kValidating, R"({"kind":"ValidatingWebhookConfiguration","metadata":{"name":"v"},"webhooks":[]})");
  }
  ~World() {
    for (const auto& each : replicas) {
      bool stopped = false;
      asio::co_spawn(loop.context, each->tasks.stop(loop.clock, std::chrono::seconds(1)),
                     [&](const std::exception_ptr&) { stopped = true; });
      until([&] { return stopped; });
    }
    bool stopped = false;
    asio::co_spawn(loop.context, informers.stop(), [&](const std::exception_ptr&) { stopped = true; });
    until([&] { return stopped; });
  }

  void put(std::string_view path, std::string_view text) {
    json::Document& object = objects[std::string(path)];
    object = *json::parse(text);
    stamp(object);
    tell(path);
  }
  /// Somebody applies the manifests anew: entries, and no CA in them.
  void apply_again() {
    put(kMutating, R"({"kind":"MutatingWebhookConfiguration","metadata":{"name":"m"},"webhooks":[
      {"name":"pod","clientConfig":{"service":{"namespace":"x","name":"y","path":"/mutate-pod"}}}]})");
    put(kValidating, R"({"kind":"ValidatingWebhookConfiguration","metadata":{"name":"v"},"webhooks":[
      {"name":"pod","clientConfig":{"service":{"namespace":"x","name":"y","path":"/mutate-pod"}}}]})");
  }
  /// Whoever watches is told of the object as it is now.
  void tell(std::string_view path) {
    for (std::size_t i = 0; i < watches.size(); ++i)
      if (path.starts_with(watches[i]) && !server.bodies[i]->dropped())
        server.bodies[i]->feed(modified(objects.at(std::string(path))));
  }
  static std::string modified(const json::Document& object) {
    return fmt::format("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", json::to_text(object));
  }
  static int version_of(const json::Document& object) {
    return std::stoi(std::string(json::text_at(object, "metadata", "resourceVersion")));
  }
  /// Of a collection: its objects, or a watch of it, which begins with what changed since the asked version.
  Result<net::Response> collection(const net::Request& request, std::string_view path) {
    if (request.target.find("sendInitialEvents") != std::string::npos)
      return test::status_response(422, "Invalid");
    if (request.target.find("watch=") != std::string::npos) {
      watches.emplace_back(path);
      static constexpr std::string_view kSince = "resourceVersion=";
      const int since = std::atoi(request.target.c_str() + request.target.find(kSince) + kSince.size());
      std::string missed;
      for (const auto& [name, object] : objects)
        if (name.starts_with(path) && version_of(object) > since) missed += modified(object);
      return test::json_response(200, std::move(missed));
    }
    std::string items;
    for (const auto& [name, object] : objects)
      if (name.starts_with(path)) items += (items.empty() ? "" : ",") + json::to_text(object);
    return test::json_response(
        200, fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version, items));
  }
  void stamp(json::Document& object) {
    json::set_text(json::object_at(object, "metadata", object.arena()), "resourceVersion",
                   std::to_string(++version), object.arena());
  }
  Result<net::Response> answer(const net::Request& request) {
    if (down) return Error(Code::unavailable, "connection refused");
    const bool post = request.method == "POST";
    const std::string path = post ? fmt::format("{}/certs", request.target) : request.target;
    if (const std::size_t query = path.find('?'); query != std::string::npos)
      return collection(request, path.substr(0, query));
    const auto it = objects.find(path);
    if (request.method == "GET")
      return it == objects.end() ? test::status_response(404, "NotFound")
                                 : test::json_response(200, json::to_text(it->second));
    ++writes[path];
    if (refuse_writes) return test::status_response(403, "Forbidden", "rbac");
    if (post && it != objects.end()) return test::status_response(409, "AlreadyExists");
    json::Document object = *json::parse(request.body);
    if (!post && it == objects.end()) return test::status_response(404, "NotFound");
    if (!post && json::text_at(object, "metadata", "resourceVersion") !=
                     json::text_at(it->second, "metadata", "resourceVersion"))
      return test::status_response(409, "Conflict");
    if (drops_conditions)
      for (json::Value& entry : json::array_at(object, "webhooks", object.arena()).elements())
        json::remove(entry, "matchConditions");
    stamp(object);
    objects[path] = std::move(object);
    tell(path);
    return test::json_response(200, json::to_text(objects[path]));
  }

  struct Replica {
    Replica(World& world, std::string folder, std::string host = {})
        : keeper({.clock = world.loop.clock,
                  .log = world.log,
                  .workers = world.workers,
                  .client = world.api,
                  .settings = {.port = 9876,
                               .host = std::move(host),
                               .folder = std::move(folder),
                               .in_secret = true,
                               .ns = "ns",
                               .secret = "certs",
                               .service = "service",
                               .mutating = "m",
                               .validating = "v"},
                  .watched = world.watched,
                  .served = [](std::string_view path) { return path == "/mutate-pod"; },
                  .mutating_entries = *json::parse("[]"),
                  .validating_entries = *json::parse(world.own),
                  .serve =
                      [this](const Certificates& certificates) {
                        served.push_back(certificates);
                        return port_taken ? Result<>(Error(Code::already_exists, "port taken")) : Result<>();
                      }}),
          tasks(world.loop.executor(), [this](std::string_view, const Error& error) { failed = error; }) {}
    void start() { tasks.spawn("keeper", keeper.run()); }

    std::vector<Certificates> served;
    bool port_taken = false;
    std::optional<Error> failed;
    WebhookKeeper keeper;
    TaskGroup tasks;
  };
  Replica& replica(std::string host = {}) {
    replicas.push_back(
        std::make_unique<Replica>(*this, tree / fmt::format("r{}", replicas.size()), std::move(host)));
    return *replicas.back();
  }

  /// Keys are made by threads: waits for them, not for the clock.
  template <class Condition>
  bool until(Condition condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i) {
      loop.context.restart();
      loop.context.run_one_for(std::chrono::milliseconds(1));
    }
    return condition();
  }
  /// The same while time passes.
  template <class Condition>
  bool in_time(Condition condition) {
    for (int second = 0; second < 2000 && !condition(); ++second) {
      loop.advance(std::chrono::seconds(1));
      int turns = 0;
      until([&] { return ++turns > 5; });
    }
    return condition();
  }
  /// Started, and past the rest that follows its first writes.
  Replica& running() {
    Replica& one = replica();
    one.start();
    REQUIRE(until([&] { return right(one); }));
    pass(std::chrono::seconds(2));
    return one;
  }
  /// From now on keepers are told of what changes, as by an API server's watch.
  void watch() {
    kube::Scope one;
    one.fields = "metadata.name=m";
    watched.push_back(informers.informer<api::MutatingWebhookConfiguration>(api, one));
    one.fields = "metadata.name=v";
    watched.push_back(informers.informer<api::ValidatingWebhookConfiguration>(api, one));
    one = {.ns = "ns", .fields = "metadata.name=certs", .labels = {}};
    watched.push_back(informers.informer<api::Secret>(api, one));
    informers.start();
    pass(std::chrono::seconds(1));
  }
  /// How long both configurations take to believe what is served, in steps of a tenth of a second.
  nanoseconds until_believed(const Replica& one) {
    const MonoTime began = loop.clock.mono();
    while (!believed(one) && loop.clock.mono() - began < std::chrono::seconds(30))
      pass(std::chrono::milliseconds(100));
    return loop.clock.mono() - began;
  }
  bool believed(const Replica& one) const {
    for (const std::string_view path : {kMutating, kValidating}) {
      const json::Value* const webhooks = json::find(objects.at(std::string(path)), "webhooks");
      for (const json::Value& entry : webhooks->elements()) {
        const auto bundle = decode_base64(json::text_at(entry, "clientConfig", "caBundle"));
        if (bundle.value_or("").find(one.served.back().ca.certificate_pem) == std::string::npos) return false;
      }
    }
    return true;
  }
  /// Lets time pass, and what follows from it happen, by the worker too.
  void pass(nanoseconds time) {
    loop.advance(time);
    for (int i = 0; i < 2; ++i) {
      until([this] { return loop.context.poll() == 0; });
      bool done = false;
      asio::co_spawn(loop.context, workers.run([] {}),
                     [&](const std::exception_ptr&, const Result<>&) { done = true; });
      until([&] { return done; });
    }
  }

  std::string bundle() const {
    const json::Value* webhooks = json::find(objects.at(std::string(kMutating)), "webhooks");
    return webhooks->size() == 1 ? std::string(json::text_at((*webhooks)[0], "clientConfig", "caBundle"))
                                 : "";
  }
  bool right(const Replica& one) const {
    // Beside a new CA the one before it is believed for a while.
    return one.keeper.ready().has_value() &&
           decode_base64(bundle()).value_or("").starts_with(one.served.back().ca.certificate_pem);
  }

  testing::Tree tree;
  test::Loop loop;
  test::FakeTransport server{loop.clock};
  kube::Client api{server, loop.clock, {.max_retries = 0}};
  kube::InformerSet informers{loop.executor(), loop.clock};
  std::vector<kube::AnyInformer> watched;
  std::vector<std::string> watches;  // the collections of the server's streams, in their order
  CapturedLog captured;
  Logger log{captured, loop.clock};
  WorkerPool workers{1};  // one: what comes later in it is done later
  std::map<std::string, json::Document> objects;
  std::map<std::string, int> writes;
  int version = 0;
  bool down = false, refuse_writes = false, drops_conditions = false;
  std::string own = "[]";  // the manager's entries for validation
  std::vector<std::unique_ptr<Replica>> replicas;
};

TEST_CASE("two replicas that start at once serve the same certificates, which the configurations name") {
  World world;
  World::Replica &a = world.replica(), &b = world.replica();
  CHECK_FALSE(a.keeper.ready().has_value());
  a.start();
  b.start();
  // The loser of the race looks again when its backoff is over.
  REQUIRE(world.until([&] { return a.keeper.ready().has_value() || b.keeper.ready().has_value(); }));
  REQUIRE(world.until([&] {
    if (a.served.empty() || b.served.empty()) world.loop.clock.advance(std::chrono::milliseconds(300));
    return world.right(a) && world.right(b);
  }));
  CHECK(a.served == b.served);
  CHECK(a.served.size() == 1);
  const json::Value& data = *json::find(world.objects.at(std::string(kSecret)), "data");
  CHECK(data.size() == 6);
  CHECK(json::text_at(data, "tls.key") == encode_base64(a.served[0].server.key_pem));
  CHECK(read_certificates(world.tree / "r0").value() == a.served[0]);
  CHECK(read_certificates(world.tree / "r1").value() == a.served[0]);
  // Nothing more is written.
  const auto writes = world.writes;
  world.pass(std::chrono::minutes(5));
  CHECK(world.writes == writes);
}

TEST_CASE("a certificate that grows old while it is served is replaced, its CA stays") {
  World world;
  World::Replica& one = world.running();
  // All at once, so that nothing is renewed in between: as after a suspended machine.
  SECTION("half a year later") { world.loop.clock.advance(std::chrono::hours(24 * 184)); }
  SECTION("after it has expired") {
    world.loop.clock.advance(std::chrono::hours(24 * 400));
    CHECK_FALSE(one.keeper.ready().has_value());
  }
  REQUIRE(world.until([&] { return one.served.size() == 2; }));
  REQUIRE(world.until([&] { return world.right(one); }));
  CHECK(one.served[0].ca.certificate_pem == one.served[1].ca.certificate_pem);
  CHECK_FALSE(one.served[0].server.certificate_pem == one.served[1].server.certificate_pem);
}

TEST_CASE("a Secret that is garbled or deleted is made anew, what else it holds stays") {
  World world;
  World::Replica& one = world.running();
  SECTION("deleted") { world.objects.erase(std::string(kSecret)); }
  SECTION("another text") {
    world.put(kSecret,
              R"({"metadata":{"name":"certs","labels":{"a":"b"}},"data":{"cert.pem":"!","mine":"eA=="}})");
  }
  SECTION("no data") { world.put(kSecret, R"({"metadata":{"name":"certs"}})"); }
  SECTION("for another service") {
    json::Document& secret = world.objects.at(std::string(kSecret));
    Certificates other = *renew_certificates({}, "other.ns.svc", world.loop.clock.now());
    for (const CertificateName& each : kCertificateNames)
      json::set_text(*json::find(secret, "data"), each.name, encode_base64(part_of(other, each)),
                     secret.arena());
  }
  REQUIRE(world.in_time([&] { return one.served.size() == 2 && world.right(one); }));
  const json::Document& secret = world.objects.at(std::string(kSecret));
  if (json::find(secret, "metadata", "labels")) CHECK(json::text_at(secret, "data", "mine") == "eA==");
  CHECK(json::text_at(secret, "data", "cert.pem") == encode_base64(one.served[1].server.certificate_pem));
}

TEST_CASE("a CA takes another's place while both are believed, which ends by itself") {
  World world;
  World::Replica& one = world.running();
  const std::string first = one.served[0].ca.certificate_pem;
  world.pass(std::chrono::minutes(20));
  CHECK(decode_base64(world.bundle()) == first);
  world.objects.erase(std::string(kSecret));
  // API servers hear of the new CA while the old certificate is served.
  REQUIRE(world.in_time([&] { return decode_base64(world.bundle()) != first; }));
  const std::string both = *decode_base64(world.bundle());
  CHECK(both.ends_with(first));
  CHECK(one.served.size() == 1);
  REQUIRE(world.in_time([&] { return one.served.size() == 2; }));
  const std::string second = one.served[1].ca.certificate_pem;
  CHECK(both == second + first);
  CHECK(decode_base64(world.bundle()) == both);
  REQUIRE(world.in_time([&] { return decode_base64(world.bundle()) == second; }));
}

TEST_CASE("another's certificates in the Secret are served, and a configuration is put right again") {
  World world;
  World::Replica& one = world.running();
  Certificates other = *renew_certificates({}, "service.ns.svc", world.loop.clock.now());
  json::Document& secret = world.objects.at(std::string(kSecret));
  for (const CertificateName& each : kCertificateNames)
    json::set_text(*json::find(secret, "data"), each.name, encode_base64(part_of(other, each)),
                   secret.arena());
  REQUIRE(world.in_time([&] { return one.served.size() == 2 && world.right(one); }));
  CHECK(one.served[1] == other);

  json::Document& configuration = world.objects.at(std::string(kMutating));
  json::find(configuration, "webhooks")->set_array();
  REQUIRE(world.in_time([&] { return world.right(one); }));

  // Without configurations the webhooks are served all the same; one that comes is seen to.
  world.objects.erase(std::string(kValidating));
  world.pass(std::chrono::minutes(2));
  CHECK(one.keeper.ready().has_value());
}

TEST_CASE(
    "what somebody replaces is right again within a second, five times in a row, and while a CA is new") {
  World world;
  world.watch();
  World::Replica& one = world.running();
  for (int i = 0; i < 20; ++i) world.pass(std::chrono::minutes(1));  // watches are begun again
  world.pass(std::chrono::seconds(2));
  for (int i = 0; i < 5; ++i) {
    world.apply_again();
    CHECK_FALSE(world.believed(one));
    CHECK(world.until_believed(one) < std::chrono::seconds(1));
  }
  world.pass(std::chrono::seconds(30));

  // A new CA: API servers hear of it for a while before its certificates are served.
  const std::string first = one.served[0].ca.certificate_pem;
  world.put(kSecret, R"({"metadata":{"name":"certs"}})");
  for (int i = 0; i < 100 && decode_base64(world.bundle()) == first; ++i)
    world.pass(std::chrono::milliseconds(100));
  REQUIRE(decode_base64(world.bundle()) != first);
  REQUIRE(one.served.size() == 1);
  const MonoTime announced = world.loop.clock.mono();
  while (one.served.size() == 1 && world.loop.clock.mono() - announced < std::chrono::seconds(10)) {
    world.apply_again();
    CHECK(world.until_believed(one) < std::chrono::seconds(1));
    world.pass(std::chrono::milliseconds(300));
  }
  REQUIRE(one.served.size() == 2);
  CHECK(world.loop.clock.mono() - announced <= kCaHeard + std::chrono::seconds(1));
  // Whoever still serves the one before it is believed, too, though who applied knew neither.
  world.pass(std::chrono::seconds(20));
  world.apply_again();
  CHECK(world.until_believed(one) < std::chrono::seconds(1));
  CHECK(decode_base64(world.bundle()) == one.served[1].ca.certificate_pem + first);
}

TEST_CASE("two versions that do not agree write less and less often") {
  World world;
  const bool told = GENERATE(false, true);
  if (told) world.watch();
  world.running();
  const int before = world.writes[std::string(kMutating)];
  for (int second = 0; second < 120; ++second) {
    json::find(world.objects.at(std::string(kMutating)), "webhooks")->set_array();
    if (told) world.tell(kMutating);
    world.pass(std::chrono::seconds(1));
  }
  const int written = world.writes[std::string(kMutating)] - before;
  CHECK(written <= 15);
  if (told) CHECK(written >= 10);
}

TEST_CASE("a lost condition comes back, once a start where the API server drops it") {
  World world;
  world.own =
      R"([{"name":"c","clientConfig":{"service":{"path":"/mutate-pod"}},"matchConditions":[{"name":"c","expression":"x"}]}])";
  world.put(kValidating, R"({"kind":"ValidatingWebhookConfiguration","metadata":{"name":"v",
    "annotations":{"koordinator.sh/webhook-entries":"manager"}},"webhooks":[]})");
  const std::string path(kValidating);
  const auto conditions = [&] {
    return json::to_text(world.objects.at(path)).find("matchConditions") != std::string::npos;
  };
  const auto minutes = [&](int count) {
    for (int i = 0; i < count; ++i) world.pass(WebhookKeeper::kPeriod + std::chrono::seconds(1));
  };
  world.drops_conditions = true;
  world.running();
  minutes(3);
  const int written = world.writes[path];
  CHECK(written == 2);
  minutes(10);
  CHECK(world.writes[path] == written);
  CHECK_FALSE(conditions());
  CHECK(world.captured.contains("drops matchConditions"));
  // The API server is another; a manager starts.
  world.drops_conditions = false;
  world.running();
  minutes(1);
  CHECK(conditions());
  for (int i = 0; i < 2; ++i) {
    for (json::Value& entry : json::find(world.objects.at(path), "webhooks")->elements())
      json::remove(entry, "matchConditions");
    CHECK_FALSE(conditions());
    minutes(2);
    CHECK(conditions());
  }
}

TEST_CASE("a failure is told and tried again; what is served goes on") {
  World world;
  World::Replica& one = world.replica();
  world.refuse_writes = true;
  one.start();
  REQUIRE(world.until([&] { return world.writes[std::string("/api/v1/namespaces/ns/secrets/certs")] > 0; }));
  world.until([&] { return !one.keeper.ready().error().message().starts_with("the certificates"); });
  CHECK_THAT(one.keeper.ready().error().message(), Catch::Contains("rbac"));
  CHECK(one.served.empty());
  world.refuse_writes = false;
  REQUIRE(world.in_time([&] { return world.right(one); }));
  // It is time to renew, but nothing can be written: what is there is still good.
  world.refuse_writes = true;
  world.loop.advance(std::chrono::hours(24 * 200));
  const int tried = world.writes[std::string(kSecret)];
  REQUIRE(world.in_time([&] { return world.writes[std::string(kSecret)] > tried; }));
  CHECK(one.keeper.ready().has_value());
  CHECK(one.served.size() == 1);
  world.down = true;
  world.pass(std::chrono::minutes(10));
  CHECK(one.keeper.ready().has_value());

  World::Replica& other = world.replica();
  world.down = world.refuse_writes = false;
  other.port_taken = true;
  other.start();
  REQUIRE(world.until([&] { return other.failed.has_value(); }));
  CHECK(other.failed->message() == "port taken");
}

}  // namespace
}  // namespace koord::manager
