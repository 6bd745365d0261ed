// Certificates: made, refused, read again when the files change.
#include "koord/net/certificate.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "koord/base/manual_clock.hpp"
#include "koord/net/tls.hpp"

namespace koord::net {
namespace {

TEST_CASE("a certificate fits its key and no other") {
  const ManualClock clock;
  const auto ca = make_ca("test-ca", clock.now());
  REQUIRE(ca.has_value());
  const auto a = issue_certificate(*ca, {"a", {"org"}, {"localhost"}, {"127.0.0.1", "::1"}}, clock.now());
  const auto b = issue_certificate(*ca, {"b", {}, {}, {}, false}, clock.now());
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  CHECK(TlsContext::make_server({a->certificate_pem, a->key_pem, ca->certificate_pem}).has_value());
  const auto mixed = TlsContext::make_server({a->certificate_pem, b->key_pem});
  REQUIRE_FALSE(mixed.has_value());
}

TEST_CASE("a server's certificate is checked as a client would: key, CA, name, time") {
  const ManualClock clock;
  const auto now = clock.now();
  using std::chrono::hours;
  for (const KeyKind kind : {KeyKind::ecdsa_p256, KeyKind::rsa_2048}) {
    const auto ca = make_ca("test-ca", now, hours(100), kind);
    REQUIRE(ca.has_value());
    CertificateRequest request{"a.svc", {}, {"localhost", "a.svc"}, {"10.0.0.1"}};
    request.valid_for = hours(50);
    request.key = kind;
    const auto pair = issue_certificate(*ca, request, now);
    const auto other = issue_certificate(*ca, request, now);
    request.server = false;
    const auto client = issue_certificate(*ca, request, now);
    REQUIRE(pair.has_value());
    REQUIRE(client.has_value());
    const bool rsa = kind == KeyKind::rsa_2048;
    CHECK(pair->key_pem.starts_with("-----BEGIN RSA PRIVATE KEY-----") == rsa);
    CHECK(ca->key_pem.starts_with("-----BEGIN PRIVATE KEY-----") != rsa);

    const auto check = [&](const KeyPair& shown, const std::string& trusted, const std::string& name,
                           WallTime at) {
      const auto checked = check_server_certificate(shown, trusted, name, at);
      return checked ? std::string("good") : checked.error().message();
    };
    const std::string& root = ca->certificate_pem;
    for (const char* name : {"a.svc", "localhost", "10.0.0.1", ""})
      CHECK(check(*pair, root, name, now) == "good");
    CHECK(check(*pair, root, "b.svc", now) == "certificate: hostname mismatch");
    CHECK(check(*pair, root, "10.0.0.2", now) == "certificate: IP address mismatch");
    CHECK(check(*pair, root, "a.svc", now + hours(49)) == "good");
    CHECK(check(*pair, root, "a.svc", now + hours(51)) == "certificate: certificate has expired");
    CHECK(check(*pair, root, "a.svc", now - hours(2)) == "certificate: certificate is not yet valid");
    CHECK(check(*client, root, "a.svc", now).starts_with("certificate: unsuitable certificate purpose"));
    CHECK(check({pair->certificate_pem, other->key_pem}, root, "a.svc", now)
              .starts_with("key does not belong to the certificate"));
    CHECK(check({pair->certificate_pem, "junk"}, root, "a.svc", now).starts_with("key: not a PEM key"));
    CHECK(check({"junk", pair->key_pem}, root, "a.svc", now) == "certificate: holds no certificate in PEM");
    CHECK(check(*pair, "", "a.svc", now) == "certificate authority: holds no certificate in PEM");
    CHECK(check(*pair, make_ca("test-ca", now)->certificate_pem, "a.svc", now) ==
          "certificate: unable to get local issuer certificate");
    CHECK(check(*ca, root, "", now + hours(99)) == "good");
    CHECK(check(*ca, root, "", now + hours(101)) == "certificate: certificate has expired");
  }
}

TEST_CASE("names that are none are refused") {
  const ManualClock clock;
  const auto ca = make_ca("test-ca", clock.now());
  REQUIRE(ca.has_value());
  CHECK_FALSE(issue_certificate(*ca, {"x", {}, {"a,IP:1.2.3.4"}, {}}, clock.now()).has_value());
  CHECK_FALSE(issue_certificate(*ca, {"x", {}, {""}, {}}, clock.now()).has_value());
  CHECK_FALSE(issue_certificate(*ca, {"x", {}, {}, {"1.2.3"}}, clock.now()).has_value());
  CHECK_FALSE(issue_certificate({"nonsense", "nonsense"}, {"x", {}, {}, {}}, clock.now()).has_value());
}

TEST_CASE("settings of TLS that are wrong say so") {
  const ManualClock clock;
  const auto pair = make_self_signed({"x", {}, {"localhost"}, {}}, clock.now());
  REQUIRE(pair.has_value());
  struct Row {
    TlsSettings settings;
    std::string message;
  };
  const Row rows[] = {
      {{"", pair->key_pem}, "certificate: holds no certificate in PEM"},
      {{pair->certificate_pem, "junk"}, "key: not a PEM key"},
      {{pair->certificate_pem, pair->key_pem, "junk"}, "client CA: holds no certificate in PEM"},
      {{pair->certificate_pem, pair->key_pem, "", false, "VersionTLS10"},
       "TLS version VersionTLS10 is not known; VersionTLS12 and VersionTLS13 are"},
      {{pair->certificate_pem, pair->key_pem, "", false, "", {"TLS_NOPE"}}, "unknown cipher suite TLS_NOPE"},
  };
  for (const Row& row : rows) {
    const auto context = TlsContext::make_server(row.settings);
    REQUIRE_FALSE(context.has_value());
    CHECK(context.error().message().substr(0, row.message.size()) == row.message);
  }
  const auto good =
      TlsContext::make_server({pair->certificate_pem,
                               pair->key_pem,
                               "",
                               false,
                               "VersionTLS13",
                               {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"}});
  CHECK(good.has_value());
}

TEST_CASE("files are read again when they change") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("koord-certificate-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  write("tls.crt", "one");
  write("tls.key", "key");
  CertificateFiles files((folder / "tls.crt").string(), (folder / "tls.key").string());
  REQUIRE(files.load().has_value());
  auto again = files.reload();
  REQUIRE(again.has_value());
  CHECK_FALSE(again->has_value());
  write("tls.crt", "two");
  again = files.reload();
  REQUIRE(again.has_value());
  REQUIRE(again->has_value());
  CHECK((*again)->certificate_pem == "two");
  std::filesystem::remove(folder / "tls.crt");
  again = files.reload();
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().message().find("tls.crt: No such file or directory") != std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace koord::net
