// TLS between the client and our own server, over loopback: chains, names, times, client certificates,
// versions.
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "koord/kube/config.hpp"
#include "koord/kube/transport.hpp"
#include "koord/net/certificate.hpp"
#include "koord/net/server.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;
using net::CertificateRequest;
using net::KeyPair;

namespace {

// Certificates are checked against the real time of the machine.
WallTime now() { return std::chrono::time_point_cast<nanoseconds>(std::chrono::system_clock::now()); }

KeyPair authority(const std::string& name) {
  const auto made = net::make_ca(name, now());
  REQUIRE(made.has_value());
  return *made;
}

KeyPair issued(const KeyPair& by, const CertificateRequest& request, WallTime at = now()) {
  const auto made = net::issue_certificate(by, request, at);
  REQUIRE(made.has_value());
  return *made;
}

CertificateRequest server_request() {
  return {.common_name = "kube-apiserver", .dns_names = {"kubernetes"}, .ip_addresses = {"127.0.0.1"}};
}

CertificateRequest person(const std::string& name) {
  return {.common_name = name, .organizations = {"team"}, .server = false};
}

/// A server that answers with the name of its peer, and what a client gets from it.
struct Server {
  test::Loop loop;
  std::optional<net::Server> server;
  std::uint16_t port = 0;

  explicit Server(const net::TlsSettings& settings) {
    auto tls = net::TlsContext::make_server(settings);
    REQUIRE(tls.has_value());
    auto whoami = [](net::Request request) -> Task<net::Response> {
      std::string text = request.peer->certificate_verified ? request.peer->common_name : "nobody";
      for (const std::string& organization : request.peer->organizations) text += " of " + organization;
      co_return net::Response::text(200, std::move(text));
    };
    server.emplace(loop.executor(), loop.clock, net::ServerOptions{}, net::ServerHandlers{.handle = whoami});
    const auto opened = server->listen("127.0.0.1", 0, *tls);
    REQUIRE(opened.has_value());
    port = *opened;
  }
  ~Server() { test::run_task(loop, server->stop(0ms), true); }

  /// The body or the error's message. Asked twice, for a failure must not leave anything behind.
  std::string get(ClientConfig config) {
    config.server = "https://127.0.0.1:" + std::to_string(port);
    auto transport = make_transport(loop.executor(), loop.clock, config);
    if (!transport) return transport.error().message();
    std::string first;
    for (int i = 0; i < 2; ++i) {
      net::Request request;
      request.target = "/x";
      const auto got = test::run_task(loop, (*transport)->send(request), true);
      if (!got) CHECK(got.error().code() == Code::unavailable);
      const std::string text = got ? got->body : got.error().message();
      if (i == 0) first = text;
      CHECK(text == first);
    }
    transport->reset();
    return first;
  }
};

net::TlsSettings settings(const KeyPair& pair) {
  return {.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem};
}

}  // namespace

TEST_CASE("the server's chain, name and time are verified") {
  const KeyPair ca = authority("test CA");
  const KeyPair stranger = authority("other CA");
  const KeyPair good = issued(ca, server_request());
  CertificateRequest request = server_request();
  request.ip_addresses.clear();
  const KeyPair by_name = issued(ca, request);
  request = server_request();
  request.valid_for = 24h;
  const KeyPair expired = issued(ca, request, now() - 48h);
  const KeyPair not_yet = issued(ca, server_request(), now() + 48h);
  const KeyPair of_a_client = issued(ca, person("alice"));
  const auto alone = net::make_self_signed(server_request(), now());
  REQUIRE(alone.has_value());

  struct Row {
    const KeyPair& server;
    std::string ca;
    std::string name;
    bool insecure;
    std::string outcome;  // begins the error, or the body
  };
  const std::string refused = "not accepted for ";
  const Row rows[] = {
      {good, ca.certificate_pem, "", false, "nobody"},
      {good, ca.certificate_pem, "kubernetes", false, "nobody"},
      {by_name, ca.certificate_pem, "kubernetes", false, "nobody"},
      {by_name, stranger.certificate_pem + ca.certificate_pem, "kubernetes", false, "nobody"},
      {by_name, ca.certificate_pem, "", false, refused + "127.0.0.1: IP address mismatch"},
      {by_name, ca.certificate_pem, "elsewhere", false, refused + "elsewhere: hostname mismatch"},
      {good, stranger.certificate_pem, "", false,
       refused + "127.0.0.1: unable to get local issuer certificate"},
      {expired, ca.certificate_pem, "", false, refused + "127.0.0.1: certificate has expired"},
      {not_yet, ca.certificate_pem, "", false, refused + "127.0.0.1: certificate is not yet valid"},
      {of_a_client, ca.certificate_pem, "alice", false, refused + "alice: "},
      {*alone, ca.certificate_pem, "", false, refused + "127.0.0.1: self-signed certificate"},
      {*alone, alone->certificate_pem, "", false, "nobody"},
      {expired, "", "", true, "nobody"},
      {of_a_client, "", "elsewhere", true, "nobody"},
  };
  int number = 0;
  for (const Row& row : rows) {
    CAPTURE(++number, row.outcome);
    Server server(settings(row.server));
    ClientConfig config;
    config.ca_pem = row.ca;
    config.tls_server_name = row.name;
    config.insecure_skip_tls_verify = row.insecure;
    CHECK_THAT(server.get(config), Catch::Contains(row.outcome));
  }
}

TEST_CASE("a server's chain may have a link between") {
  const KeyPair root = authority("root");
  const KeyPair good = issued(root, server_request());
  KeyPair chain = good;
  chain.certificate_pem += root.certificate_pem;
  Server server(settings(chain));
  ClientConfig config;
  config.ca_pem = root.certificate_pem;
  CHECK(server.get(config) == "nobody");
}

TEST_CASE("client certificates: whose are taken, and what becomes of those that are not") {
  const KeyPair ca = authority("cluster CA");
  const KeyPair stranger = authority("other CA");
  const KeyPair alice = issued(ca, person("alice"));
  const KeyPair mallory = issued(stranger, person("alice"));
  CertificateRequest request = person("alice");
  request.valid_for = 24h;
  const KeyPair expired = issued(ca, request, now() - 48h);
  const KeyPair as_server = issued(ca, server_request());
  const KeyPair none;
  struct Row {
    const KeyPair& client;
    std::string optional, required;  // what comes of it where a certificate may and where it must be given
  };
  const Row rows[] = {
      {alice, "alice of team", "alice of team"},
      {none, "nobody", "TLS: "},
      {mallory, "nobody", "TLS: "},
      {expired, "nobody", "TLS: "},
      {as_server, "nobody", "TLS: "},
  };
  int number = 0;
  for (const Row& row : rows) {
    for (const bool must : {false, true}) {
      CAPTURE(++number, must);
      net::TlsSettings server_settings = settings(issued(ca, server_request()));
      server_settings.client_ca_pem = ca.certificate_pem;
      server_settings.require_client_certificate = must;
      Server server(server_settings);
      ClientConfig config;
      config.ca_pem = ca.certificate_pem;
      config.client_cert_pem = row.client.certificate_pem;
      config.client_key_pem = row.client.key_pem;
      CHECK_THAT(server.get(config), Catch::StartsWith(must ? row.required : row.optional));
    }
  }
  // A server that asks for none does not learn the name.
  Server server(settings(issued(ca, server_request())));
  ClientConfig config;
  config.ca_pem = ca.certificate_pem;
  config.client_cert_pem = alice.certificate_pem;
  config.client_key_pem = alice.key_pem;
  CHECK(server.get(config) == "nobody");
}

TEST_CASE("what is wrong with a client's own files is said before anything is sent") {
  const KeyPair ca = authority("cluster CA");
  const KeyPair alice = issued(ca, person("alice"));
  const KeyPair bob = issued(ca, person("bob"));
  Server server(settings(issued(ca, server_request())));
  struct Row {
    std::string ca, certificate, key, error;
  };
  const Row rows[] = {
      {"junk", "", "", "certificate authority: holds no certificate in PEM"},
      {ca.certificate_pem, "junk", alice.key_pem, "client certificate: "},
      {ca.certificate_pem, alice.certificate_pem, "junk", "client key: "},
      {ca.certificate_pem, alice.certificate_pem, bob.key_pem,
       "client key does not belong to the client certificate"},
  };
  for (const Row& row : rows) {
    ClientConfig config;
    config.ca_pem = row.ca;
    config.client_cert_pem = row.certificate;
    config.client_key_pem = row.key;
    CHECK_THAT(server.get(config), Catch::Contains(row.error));
  }
}

TEST_CASE("a client follows its files: another CA, another certificate of its own, on one transport") {
  char folder[] = "/tmp/koord-tls-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string ca_file = folder + std::string("/ca.crt"), cert_file = folder + std::string("/me.crt"),
                    key_file = folder + std::string("/me.key");
  const auto write = [](const std::string& path, const std::string& text) { std::ofstream(path) << text; };
  const KeyPair old_ca = authority("old CA"), new_ca = authority("new CA");
  const KeyPair alice = issued(old_ca, person("alice")), bob = issued(new_ca, person("bob"));
  const auto server_of = [](const KeyPair& ca) {
    net::TlsSettings wanted = settings(issued(ca, server_request()));
    wanted.client_ca_pem = ca.certificate_pem;
    wanted.require_client_certificate = true;
    return wanted;
  };
  write(ca_file, old_ca.certificate_pem);
  write(cert_file, alice.certificate_pem);
  write(key_file, alice.key_pem);
  Server server(server_of(old_ca));
  ClientConfig config;
  config.server = "https://127.0.0.1:" + std::to_string(server.port);
  config.ca_file = ca_file;
  config.client_cert_file = cert_file;
  config.client_key_file = key_file;
  config.ca_pem = old_ca.certificate_pem;
  config.client_cert_pem = alice.certificate_pem;
  config.client_key_pem = alice.key_pem;
  auto transport = make_transport(server.loop.executor(), server.loop.clock, config);
  REQUIRE(transport.has_value());
  const auto ask = [&](std::string method) {
    net::Request request;
    request.method = std::move(method);
    request.target = "/x";
    const auto got = test::run_task(server.loop, (*transport)->send(request), true);
    return got ? got->body : got.error().message();
  };
  CHECK(ask("GET") == "alice of team");
  CHECK(ask("POST") == "alice of team");

  // The server has changed and closes what it had; the files have not yet.
  const auto renewed = net::TlsContext::make_server(server_of(new_ca));
  REQUIRE(renewed.has_value());
  server.server->set_tls(*renewed);
  server.loop.advance(200s);  // idle connections end
  CHECK_THAT(ask("POST"), Catch::Contains("not accepted"));
  write(ca_file, "half of a fi");
  CHECK_THAT(ask("POST"), Catch::Contains("not accepted"));
  // With the files the very next request goes, whatever it is.
  write(ca_file, new_ca.certificate_pem);
  write(cert_file, bob.certificate_pem);
  write(key_file, bob.key_pem);
  CHECK(ask("POST") == "bob of team");

  // Where nothing fails a minute does it: no connection keeps the old certificate longer.
  const KeyPair carol = issued(new_ca, person("carol"));
  write(cert_file, carol.certificate_pem);
  CHECK(ask("POST") == "bob of team");
  server.loop.advance(61s);
  CHECK(ask("POST") == "bob of team");  // a certificate without its key is not used
  write(key_file, carol.key_pem);
  server.loop.advance(61s);
  CHECK(ask("POST") == "carol of team");
  transport->reset();
  std::filesystem::remove_all(folder);
}

TEST_CASE("versions and cipher suites that a server insists on") {
  const KeyPair ca = authority("test CA");
  net::TlsSettings wanted = settings(issued(ca, server_request()));
  ClientConfig config;
  config.ca_pem = ca.certificate_pem;
  wanted.min_version = "VersionTLS13";
  CHECK(Server(wanted).get(config) == "nobody");
  wanted.min_version = "";
  wanted.cipher_suites = {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"};
  CHECK(Server(wanted).get(config) == "nobody");
}
