// RoleHost: ports, authentication, certificates, the life of roles; over real sockets on loopback, with the
// API server that answers reviews played by an net::Server.
#include "koord/runtime/role_host.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/authentication_v1/token_review.hpp"
#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/async/event.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/informer.hpp"
#include "koord/kube/transport.hpp"
#include "koord/net/certificate.hpp"
#include "koord/net/server.hpp"
#include "koord/runtime/kube_clients.hpp"
#include "support/run_task.hpp"

namespace koord::runtime {
namespace {

using asio::ip::tcp;

constexpr std::array kPlainFlags = {
    Flag{"port", FlagType::integer, "0", "Plain HTTP."},
    Flag{"address", FlagType::text, "127.0.0.1", "Of --port."},
};
constexpr auto kFlags = join_flags(secure_serving_flags("0"), kPlainFlags);
constexpr PortFlag kPorts[] = {{"secure-port", "bind-address", true}, {"port", "address", false}};
constexpr Flag kProcessFlags[] = {{"feature-gates", FlagType::pairs, "", "Gates."}};
constexpr FeatureGate kGates[] = {{.name = "Shiny", .enabled = false, .stage = Stage::alpha}};

// What the roles of a test do; one test at a time.
struct Script {
  int made = 0, running = 0;
  bool shiny = false;
  std::vector<std::string> places;  // where a file says that --port is opened
  Result<> make_error;
  Event ends;  // set: run() returns `end`
  Result<> end;
  std::function<void(Error)> shutdown;
};
Script* script = nullptr;

class ScriptedRole final : public Role {
 public:
  explicit ScriptedRole(Script& script) : script_(script) {}
  Task<Result<>> run() override {
    ++script_.running;
    const Result<> waited = co_await script_.ends.wait();
    --script_.running;
    if (!waited) co_return waited;
    co_return script_.end;
  }

 private:
  Script& script_;
};

Task<net::Response> secret_page(net::Request) { co_return net::Response::text(200, "secret"); }

Result<std::unique_ptr<Role>> make_role(RoleContext& context) {
  if (script->make_error.has_error()) return script->make_error.error();
  ++script->made;
  script->shiny = context.gates.enabled("Shiny");
  script->shutdown = context.shutdown;
  for (const std::string& place : script->places) context.routes.open_at("port", place);
  context.routes.add("/debug/api", secret_page);
  context.routes.add("/inner/", secret_page, {.debug = true});
  context.routes.add("/apis/v1/", secret_page);
  context.routes.set_configz("alpha.config", R"({"level":1})");
  return std::unique_ptr<Role>(new ScriptedRole(*script));
}

constexpr RoleDescriptor kAlpha{
    .name = "alpha", .summary = "", .flags = kFlags, .gates = kGates, .ports = kPorts, .make = make_role};
constexpr RoleDescriptor kBeta{
    .name = "beta", .summary = "", .flags = kFlags, .gates = kGates, .ports = kPorts, .make = make_role};

// One that nobody listens on now.
std::uint16_t free_port() {
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  return acceptor.local_endpoint().port();
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("koord-role-host-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const char* name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

struct World {
  test::Loop loop;
  CapturedLog captured;
  WorkerPool workers{1};
  kube::InformerSet informers{loop.executor(), loop.clock};
  std::vector<api::SubjectAccessReviewSpec> asked;
  net::Server api_server;
  std::uint16_t api_port = 0;
  api::StringMap published;  // what the API server says about the cluster's CAs; empty: nothing
  Script roles_do;
  std::optional<RoleHost> host;

  World()
      : api_server(loop.executor(), loop.clock, {},
                   {.handle = [this](net::Request request) { return review(std::move(request)); }}) {
    const auto port = api_server.listen("127.0.0.1", 0);
    REQUIRE(port.has_value());
    api_port = *port;
    script = &roles_do;
    host.emplace(RoleHostParts{loop.executor(), loop.clock, workers, Logger(captured, loop.clock), informers,
                               "1.2.3", [this](std::string agent, metrics::Registry& metrics) {
                                 return clients(std::move(agent), metrics);
                               }});
  }
  ~World() {
    await(host->stop(std::chrono::seconds{1}));
    host.reset();  // its clients keep connections
    await(api_server.stop(std::chrono::milliseconds{0}));
    loop.settle();
  }

  void await(Task<> task) { test::run_task(loop, std::move(task), true); }

  // alice may do everything, bob nothing, root is a master.
  Task<net::Response> review(net::Request request) {
    if (request.path == "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication") {
      if (published.empty()) co_return net::Response::text(404, "none");
      api::ConfigMap map;
      map.data = published;
      co_return net::Response::json(200, api::encode(map));
    }
    if (request.path.ends_with("/tokenreviews")) {
      api::TokenReview answer = *api::decode<api::TokenReview>(request.body);
      const std::string token = answer.spec.token;
      answer.status.authenticated = token != "stolen";
      answer.status.user.username = token;
      if (token == "root") answer.status.user.groups = {"system:masters"};
      co_return net::Response::json(201, api::encode(answer));
    }
    api::SubjectAccessReview answer = *api::decode<api::SubjectAccessReview>(request.body);
    asked.push_back(answer.spec);
    answer.status.allowed = answer.spec.user == "alice";
    co_return net::Response::json(201, api::encode(answer));
  }

  std::unique_ptr<ClientFactory> clients(std::string user_agent, metrics::Registry& metrics) {
    auto config = [this](const std::string&) -> Result<kube::ClientConfig> {
      kube::ClientConfig api;
      api.server = "http://127.0.0.1:" + std::to_string(api_port);
      return api;
    };
    return std::make_unique<KubeClients>(loop.executor(), loop.clock, std::move(config),
                                         std::move(user_agent), metrics);
  }

  Result<> add(std::vector<std::string> arguments,
               std::vector<const RoleDescriptor*> roles = {&kAlpha, &kBeta}) {
    std::vector<FlagOwner> owners;
    for (const RoleDescriptor* role : roles) owners.push_back({role->name, role->flags});
    const auto line = parse_flags(arguments, FlagOwner{"", kProcessFlags}, owners);
    REQUIRE(line.has_value());
    return host->add(roles, *line);
  }

  struct Answer {
    unsigned status = 0;
    std::string body, error;
  };
  /// One request on a connection of its own. Without `ca` the certificate is not looked at.
  Answer get(std::uint16_t port, const std::string& path, const std::string& token = "",
             const std::string& ca = "", bool tls = true, const net::KeyPair& own = {},
             std::vector<std::pair<std::string, std::string>> headers = {}) {
    kube::ClientConfig config;
    config.server = (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port);
    config.ca_pem = ca;
    config.insecure_skip_tls_verify = ca.empty();
    config.token = token;
    config.client_cert_pem = own.certificate_pem;
    config.client_key_pem = own.key_pem;
    auto transport = kube::make_transport(loop.executor(), loop.clock, config);
    REQUIRE(transport.has_value());
    net::Request request;
    request.target = path;
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    const auto got = test::run_task(loop, (*transport)->send(request), true);
    transport->reset();
    if (!got) return {0, "", got.error().message()};
    return {got->status, got->body, ""};
  }

  /// What a plain port answers to these bytes.
  std::string raw(std::uint16_t port, const std::string& bytes) {
    asio::io_context own;
    tcp::socket socket(own);
    socket.connect({asio::ip::address_v4::loopback(), port});
    asio::write(socket, asio::buffer(bytes));
    std::string all;
    for (int i = 0; i < 1000 && all.find("\r\n\r\n") == std::string::npos; ++i) {
      loop.context.restart();
      loop.context.run_for(std::chrono::milliseconds{5});
      all.resize(socket.available());
      if (!all.empty()) asio::read(socket, asio::buffer(all));
    }
    return all;
  }

  /// Moves the time until the log has the line.
  bool logged_within(std::chrono::seconds time, const std::string& text) {
    for (auto passed = std::chrono::seconds{0}; passed <= time; ++passed) {
      loop.advance(std::chrono::seconds{1});
      // The file is read on a thread of the pool: wait for it, and for what follows.
      auto nothing = [] { return 1; };
      Task<Result<int>> turn = offload(workers, nothing);
      REQUIRE(test::run_task(loop, std::move(turn), true).has_value());
      loop.settle();
      if (captured.contains(text)) return true;
    }
    return false;
  }
};

TEST_CASE("two roles that want one port are an error that names both flags") {
  World w;
  const std::string port = std::to_string(free_port());
  const auto both = w.add({"--alpha.secure-port=" + port, "--beta.port=" + port});
  REQUIRE_FALSE(both.has_value());
  CHECK(both.error().message() ==
        "port " + port + " is wanted twice: change --alpha.secure-port or --beta.port");
  CHECK(w.roles_do.made == 0);
  const auto one = w.add({"--alpha.secure-port=" + port, "--alpha.port=" + port});
  REQUIRE_FALSE(one.has_value());
  CHECK(one.error().message() ==
        "port " + port + " is wanted twice: change --alpha.secure-port or --alpha.port");
}

TEST_CASE("a configuration file says where a plain port is opened, instead of its flag") {
  const std::uint16_t flag = free_port(), one = free_port(), other = free_port();
  const auto at = [](std::uint16_t port) { return fmt::format("127.0.0.1:{}", port); };
  const auto add = [&](World& w, std::vector<std::string> places) {
    (script = &w.roles_do)->places = std::move(places);
    return w.add({fmt::format("--alpha.port={}", flag)}, {&kAlpha});
  };
  World both, closed, twice;
  REQUIRE(add(closed, {"127.0.0.1:0"}).has_value());
  CHECK(closed.host->ports("alpha") == std::vector<std::uint16_t>{0, 0});
  REQUIRE(add(both, {at(one), at(other)}).has_value());
  for (const std::uint16_t port : {one, other})
    CHECK(both.get(port, "/healthz", "", "", false).status == 200);
  CHECK_FALSE(both.get(flag, "/healthz", "", "", false).error.empty());
  CHECK(add(twice, {at(one)}).error().message().starts_with("role alpha, " + at(one)));
}

TEST_CASE("what keeps a role from starting is an error that names the flag") {
  const Folder folder;
  const std::string junk = folder.write("junk", "junk");
  asio::io_context context;
  tcp::acceptor busy(context, {asio::ip::address_v4::loopback(), 0});
  const std::string taken = std::to_string(busy.local_endpoint().port());
  const std::string free = std::to_string(free_port());
  struct Row {
    std::vector<std::string> arguments;
    std::vector<std::string> message;
  };
  const Row rows[] = {
      {{"--alpha.port=" + taken}, {"role alpha, --port", taken}},
      {{"--alpha.secure-port=" + taken, "--alpha.bind-address=127.0.0.1"},
       {"role alpha, --secure-port", taken}},
      {{"--alpha.port=70000"}, {"--port: 70000 is not a port"}},
      {{"--alpha.port=-1"}, {"--port: -1 is not a port"}},
      {{"--alpha.port=" + free, "--alpha.address=nowhere"}, {"role alpha, --port", "nowhere"}},
      {{"--alpha.secure-port=" + free, "--alpha.tls-cert-file=" + junk},
       {"--tls-cert-file and --tls-private-key-file belong together"}},
      {{"--alpha.secure-port=" + free, "--alpha.tls-cert-file=/none", "--alpha.tls-private-key-file=" + junk},
       {"/none: No such file or directory"}},
      {{"--alpha.secure-port=" + free, "--alpha.tls-cert-file=" + junk,
        "--alpha.tls-private-key-file=" + junk},
       {"no certificate in PEM"}},
      {{"--alpha.secure-port=" + free, "--alpha.client-ca-file=/none"}, {"--client-ca-file: /none"}},
      {{"--alpha.secure-port=" + free, "--alpha.client-ca-file=" + junk}, {"client CA"}},
      {{"--alpha.secure-port=" + free, "--alpha.tls-min-version=VersionTLS10"},
       {"VersionTLS10 is not known"}},
      {{"--alpha.secure-port=" + free, "--alpha.tls-cipher-suites=NOPE"}, {"unknown cipher suite NOPE"}},
      {{"--feature-gates=Shyni=true"}, {"--feature-gates: unrecognized feature gate: Shyni"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    World w;
    const auto added = w.add(row.arguments);
    REQUIRE_FALSE(added.has_value());
    CAPTURE(added.error().message());
    for (const std::string& part : row.message)
      CHECK(added.error().message().find(part) != std::string::npos);
  }
  World w;
  w.roles_do.make_error = Error(Code::invalid, "a.yaml:3: no");
  CHECK(w.add({}).error().message() == "role alpha: a.yaml:3: no");
}

TEST_CASE("a secure port asks who it is and whether they may, a plain one does not") {
  World w;
  REQUIRE(w.add({"--alpha.secure-port=" + std::to_string(free_port()),
                 "--alpha.port=" + std::to_string(free_port()),
                 "--alpha.authorization-always-allow-paths=/healthz,/livez,/readyz,/debug/*,/inner/*",
                 "--feature-gates=Shiny=true"})
              .has_value());
  CHECK(w.roles_do.shiny);
  const std::vector<std::uint16_t> ports = w.host->ports("alpha");
  REQUIRE(ports.size() == 2);
  CHECK(w.host->ports("beta") == std::vector<std::uint16_t>{0, 0});
  struct Row {
    std::string path, token;
    unsigned status;
    std::string body;  // is in it
  };
  const Row rows[] = {
      {"/healthz", "", 200, "ok"},
      {"/healthz/ping", "", 403, "forbidden: User"},  // as upstream: only the path itself is open
      {"/readyz?verbose", "", 200, "[+]ping ok"},
      {"/livez", "stolen", 200, "ok"},
      {"/metrics", "", 403, "forbidden: User"},
      {"/metrics", "bob", 403, "forbidden: User"},
      {"/metrics", "stolen", 401, "Unauthorized"},
      {"/metrics", "alice", 200, ""},
      {"/version", "bob", 403, "forbidden: User"},
      {"/version", "alice", 200, R"("gitVersion":"v)"},
      {"/configz", "bob", 403, "forbidden: User"},
      {"/configz", "alice", 200, R"({"alpha.config":{"level":1}})"},
      {"/configz", "root", 200, "alpha.config"},
      {"/apis/v1/node", "", 403, "forbidden: User"},
      {"/apis/v1/node", "alice", 200, "secret"},
      {"/nothing", "alice", 404, "404"},
      {"/nothing", "", 403, "forbidden: User"},
      // Never anonymous, though the flag says so.
      {"/debug/api", "", 401, "Unauthorized"},
      {"/debug/api", "bob", 403, "forbidden: User"},
      {"/debug/api", "alice", 200, "secret"},
      {"/inner/x", "", 401, "Unauthorized"},
      {"/inner/x", "alice", 200, "secret"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path, row.token);
    const World::Answer answer = w.get(ports[0], row.path, row.token);
    CHECK(answer.error.empty());
    CHECK(answer.status == row.status);
    CHECK(answer.body.find(row.body) != std::string::npos);
    CHECK((row.status == 200 || answer.body.find("secret") == std::string::npos));
  }
  w.asked.clear();
  w.loop.clock.advance(std::chrono::minutes{1});
  w.get(ports[0], "/metrics", "bob");
  REQUIRE(w.asked.size() == 1);
  CHECK(w.asked[0].user == "bob");
  CHECK(w.asked[0].non_resource_attributes->verb == "get");
  // The plain port, which some originals have, asks nobody.
  for (const char* path : {"/healthz", "/metrics", "/configz", "/apis/v1/x"})
    CHECK(w.get(ports[1], path, "", "", false).status == 200);
  // It is for reading, and debug routes are not there.
  for (const char* path : {"/debug/api", "/inner/x", "/debug/pprof/heap"})
    CHECK(w.get(ports[1], path, "", "", false).status == 404);
  for (const char* method : {"DELETE", "POST", "PUT", "OPTIONS"})
    CHECK(w.raw(ports[1], fmt::format("{} /metrics HTTP/1.1\r\nHost: h\r\n\r\n", method))
              .starts_with("HTTP/1.1 405 "));
  CHECK(w.raw(ports[1], "GET /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n")
            .starts_with("HTTP/1.1 413 "));
  CHECK(w.asked.size() == 1);
}

TEST_CASE("reviews that cannot be made are no yes") {
  World w;
  REQUIRE(w.add({"--alpha.secure-port=" + std::to_string(free_port())}).has_value());
  w.await(w.api_server.stop(std::chrono::milliseconds{0}));
  const std::uint16_t port = w.host->ports("alpha")[0];
  CHECK(w.get(port, "/metrics", "alice").status == 500);
  CHECK(w.get(port, "/healthz").status == 200);
}

TEST_CASE("a certificate is read again when its file changes, a bad one leaves the old in place") {
  const Folder folder;
  // Checked by the client against the machine's time.
  const WallTime now = std::chrono::time_point_cast<nanoseconds>(std::chrono::system_clock::now());
  const net::CertificateRequest request{"koord", {}, {"localhost"}, {"127.0.0.1"}};
  const auto ca = net::make_ca("one", now);
  const auto other_ca = net::make_ca("two", now);
  const auto first = net::issue_certificate(*ca, request, now);
  const auto second = net::issue_certificate(*other_ca, request, now);
  REQUIRE((first && second));
  const std::string certificate = folder.write("tls.crt", first->certificate_pem);
  const std::string key = folder.write("tls.key", first->key_pem);
  World w;
  REQUIRE(w.add({"--alpha.secure-port=" + std::to_string(free_port()), "--alpha.tls-cert-file=" + certificate,
                 "--alpha.tls-private-key-file=" + key})
              .has_value());
  const std::uint16_t port = w.host->ports("alpha")[0];
  auto trusted = [&](const net::KeyPair& authority) {
    return w.get(port, "/healthz", "", authority.certificate_pem).status == 200;
  };
  CHECK(trusted(*ca));
  CHECK_FALSE(trusted(*other_ca));

  folder.write("tls.crt", second->certificate_pem);  // and not yet its key
  CHECK(w.logged_within(std::chrono::seconds{30}, "the new certificate is unusable"));
  CHECK(trusted(*ca));
  folder.write("tls.key", second->key_pem);
  CHECK(w.logged_within(std::chrono::seconds{30}, "the certificate has been read again"));
  CHECK(trusted(*other_ca));
  CHECK_FALSE(trusted(*ca));
  std::filesystem::remove(certificate);
  CHECK(w.logged_within(std::chrono::seconds{30}, "could not be read again, the old one stays"));
  CHECK(trusted(*other_ca));
}

TEST_CASE("a self-signed certificate is kept in its folder") {
  const Folder folder;
  const std::string kept = (folder.path / "certs").string(), certificate = kept + "/koord-alpha.crt",
                    key = kept + "/koord-alpha.key";
  auto contents = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string first;
  for (int run = 0; run < 2; ++run) {
    World w;
    // A client compares the certificate's time with the machine's.
    w.loop.clock.jump_wall(std::chrono::system_clock::now() - w.loop.clock.now());
    REQUIRE(w.add({"--alpha.secure-port=" + std::to_string(free_port()), "--alpha.cert-dir=" + kept})
                .has_value());
    const std::string now = contents(certificate);
    CHECK(now.starts_with("-----BEGIN CERTIFICATE"));
    if (run == 0) first = now;
    CHECK(now == first);
    CHECK(w.get(w.host->ports("alpha")[0], "/healthz", "", first).status == 200);
  }
  CHECK((std::filesystem::status(key).permissions() & std::filesystem::perms::others_all) ==
        std::filesystem::perms::none);
  std::filesystem::remove(certificate);
  World w;
  const auto half = w.add({"--alpha.secure-port=" + std::to_string(free_port()), "--alpha.cert-dir=" + kept});
  REQUIRE_FALSE(half.has_value());
  CHECK(half.error().message().find(certificate + " is missing, but " + key + " is there") !=
        std::string::npos);
}

struct Certificates {
  WallTime now = std::chrono::time_point_cast<nanoseconds>(std::chrono::system_clock::now());
  net::KeyPair clients = *net::make_ca("clients", now), proxies = *net::make_ca("proxies", now),
               nobody = *net::make_ca("x", now);
  net::KeyPair of(const net::KeyPair& ca, std::string name, std::vector<std::string> groups = {}) const {
    net::CertificateRequest request;
    request.common_name = std::move(name);
    request.organizations = std::move(groups);
    request.server = false;
    return *net::issue_certificate(ca, request, now);
  }
  api::StringMap published() const {
    return {{"client-ca-file", clients.certificate_pem},
            {"requestheader-client-ca-file", proxies.certificate_pem},
            {"requestheader-allowed-names", R"(["front"])"},
            {"requestheader-username-headers", R"(["X-Remote-User"])"},
            {"requestheader-group-headers", R"(["X-Remote-Group"])"},
            {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}};
  }
};

TEST_CASE("the cluster's clients and proxies are known by the CAs that it publishes") {
  const Certificates c;
  World w;
  w.published = c.published();
  REQUIRE(w.add({"--alpha.secure-port=" + std::to_string(free_port())}).has_value());
  const std::uint16_t port = w.host->ports("alpha")[0];
  REQUIRE(w.logged_within(std::chrono::seconds{10}, "the cluster's CAs have been looked up"));
  struct Row {
    const char* name;
    net::KeyPair own;
    std::vector<std::pair<std::string, std::string>> headers;
    unsigned status;
    std::string user;  // whom the API server was asked about; empty: nobody
  };
  const std::pair<std::string, std::string> alice{"X-Remote-User", "alice"}, bob{"X-Remote-User", "bob"},
      masters{"X-Remote-Group", "system:masters"};
  const Row rows[] = {
      {"no certificate", {}, {}, 403, "system:anonymous"},
      {"headers without a certificate", {}, {alice, masters}, 403, "system:anonymous"},
      {"a client", c.of(c.clients, "alice"), {}, 200, "alice"},
      {"a client that may nothing", c.of(c.clients, "bob"), {}, 403, "bob"},
      {"a client with headers", c.of(c.clients, "bob", {"x"}), {alice, masters}, 403, "bob"},
      {"a master", c.of(c.clients, "eve", {"system:masters"}), {}, 200, ""},
      {"a proxy", c.of(c.proxies, "front"), {alice}, 200, "alice"},
      {"a proxy for one who may nothing", c.of(c.proxies, "front"), {bob}, 403, "bob"},
      {"a proxy for a master", c.of(c.proxies, "front"), {bob, masters}, 200, ""},
      // The proxies' CA vouches for proxies alone, and only for those of the list.
      {"a proxy for nobody", c.of(c.proxies, "front", {"system:masters"}), {}, 401, ""},
      {"another proxy", c.of(c.proxies, "back", {"system:masters"}), {alice, masters}, 401, ""},
      {"an unknown CA", c.of(c.nobody, "alice", {"system:masters"}), {}, 401, ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    w.asked.clear();
    w.loop.clock.advance(std::chrono::seconds{11});  // nothing is remembered
    const World::Answer answer = w.get(port, "/metrics", "", "", true, row.own, row.headers);
    CHECK(answer.status == row.status);
    CHECK((w.asked.empty() ? "" : w.asked[0].user) == row.user);
  }
}

TEST_CASE("a look-up that fails is tried again, or ends the process, or is not made") {
  const Certificates c;
  const std::string port = "--alpha.secure-port=" + std::to_string(free_port());
  SECTION("tolerated") {
    World w;
    REQUIRE(w.add({port}).has_value());
    CHECK(w.logged_within(std::chrono::seconds{3},
                          "the CAs of the cluster's clients could not be looked up: client certificates are "
                          "refused until they are"));
    w.published = c.published();
    CHECK(w.logged_within(std::chrono::seconds{30}, "the cluster's CAs have been looked up"));
    CHECK(w.get(w.host->ports("alpha")[0], "/metrics", "", "", true, c.of(c.clients, "alice")).status == 200);
    // What is published now is nonsense: the last good CAs stay.
    w.published["client-ca-file"] = "nonsense";
    CHECK(w.logged_within(std::chrono::seconds{120},
                          "the CAs in kube-system/extension-apiserver-authentication cannot be used"));
    CHECK(w.get(w.host->ports("alpha")[0], "/metrics", "", "", true, c.of(c.clients, "alice")).status == 200);
  }
  SECTION("not tolerated") {
    World w;
    REQUIRE(w.add({port, "--alpha.authentication-tolerate-lookup-failure=false"}).has_value());
    const Result<> ended = test::run_task(w.loop, w.host->run(), true);
    REQUIRE_FALSE(ended.has_value());
    CHECK(ended.error().message().find("extension-apiserver-authentication") != std::string::npos);
  }
  SECTION("skipped") {
    World w;
    w.published = c.published();
    REQUIRE(w.add({port, "--alpha.authentication-skip-lookup"}).has_value());
    CHECK_FALSE(w.logged_within(std::chrono::seconds{10}, "looked up"));
    CHECK(w.get(w.host->ports("alpha")[0], "/metrics", "", "", true, c.of(c.clients, "alice")).status == 403);
  }
}

Task<> run_host(RoleHost& host, std::optional<Result<>>& out) { out = co_await host.run(); }

TEST_CASE("the first role that fails or ends ends the run; stopping ends them all") {
  struct Row {
    std::string what;
    std::string message;
  };
  const Row rows[] = {
      {"fails", "alpha: lease lost"},
      {"ends", "alpha: the role has ended by itself"},
      {"shuts down", "beta: enough"},
      {"stopped", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    World w;
    REQUIRE(w.add({}).has_value());
    CHECK(w.roles_do.made == 2);
    std::optional<Result<>> ended;
    TaskGroup group(w.loop.executor());
    group.spawn("run", run_host(*w.host, ended));
    w.loop.settle();
    CHECK(w.roles_do.running == 2);
    CHECK_FALSE(ended.has_value());
    if (row.what == "fails") w.roles_do.end = Error(Code::conflict, "lease lost");
    if (row.what == "fails" || row.what == "ends") w.roles_do.ends.set();
    if (row.what == "shuts down") w.roles_do.shutdown(Error(Code::internal, "enough"));
    w.loop.settle();
    if (!row.message.empty()) {
      REQUIRE(ended.has_value());
      CHECK(ended->error().message() == row.message);
    }
    w.await(w.host->stop(std::chrono::seconds{1}));
    CHECK(w.roles_do.running == 0);
    w.await(group.stop(w.loop.clock, std::chrono::seconds{1}));
  }
}

}  // namespace
}  // namespace koord::runtime
