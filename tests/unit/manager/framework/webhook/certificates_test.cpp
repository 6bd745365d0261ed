// The webhooks' certificates: when they are renewed, by which CA, and as files that change at once.
#include "framework/webhook/certificates.hpp"

#include <sys/stat.h>

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "framework/webhook/settings.hpp"
#include "koord/base/file.hpp"
#include "koord/base/manual_clock.hpp"
#include "support/tree.hpp"

namespace koord::manager {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
constexpr hours kDay{24};

TEST_CASE("a server's certificate is renewed at half its life, by the same CA while a year of that is left") {
  const ManualClock clock;
  const WallTime now = clock.now();
  const std::string name = "service.ns.svc";
  const auto first = renew_certificates({}, name, now);
  REQUIRE(first.has_value());
  CHECK(check_lasting(*first, name, now).has_value());
  CHECK(check_certificates(*first, "localhost", now).has_value());
  CHECK_FALSE(check_lasting(*first, "other.ns.svc", now).has_value());
  CHECK(check_lasting(*first, name, now + kDay * 182).has_value());
  CHECK_FALSE(check_lasting(*first, name, now + kDay * 184).has_value());
  CHECK(check_certificates(*first, name, now + kDay * 364).has_value());
  CHECK_FALSE(check_certificates(*first, name, now + kDay * 366).has_value());

  const auto second = renew_certificates(*first, name, now + kDay * 184);
  REQUIRE(second.has_value());
  CHECK(second->ca.certificate_pem == first->ca.certificate_pem);
  CHECK(second->server.certificate_pem != first->server.certificate_pem);
  // So API servers that know the first believe the second.
  CHECK(net::check_server_certificate(second->server, first->ca.certificate_pem, name, now + kDay * 184)
            .has_value());

  const auto late = renew_certificates(*second, name, now + kDay * 3300);
  REQUIRE(late.has_value());
  CHECK(late->ca.certificate_pem != first->ca.certificate_pem);
  // A clock that went back: what is not valid yet is made anew.
  CHECK_FALSE(check_lasting(*late, name, now).has_value());
  CHECK(renew_certificates(*late, name, now)->ca.certificate_pem != late->ca.certificate_pem);
  // Of a garbled CA nothing is taken.
  Certificates garbled = *first;
  garbled.ca.key_pem = second->server.key_pem;
  CHECK(renew_certificates(garbled, name, now)->ca.certificate_pem != first->ca.certificate_pem);
}

TEST_CASE("a part under two names that disagree is none") {
  CHECK(certificates_of({"ca key", "ca", "key", "key", "cert", "cert"}) ==
        Certificates{{"ca", "ca key"}, {"cert", "key"}});
  CHECK(certificates_of({"ca key", "ca", "key", "key", "cert", "other"}) ==
        Certificates{{"ca", "ca key"}, {"", "key"}});
  CHECK(certificates_of({"ca key", "ca", "key", "", "", "cert"}) == Certificates{{"ca", "ca key"}, {"", ""}});
}

TEST_CASE("an address is what the certificate is for, too") {
  const ManualClock clock;
  for (const char* name : {"10.1.2.3", "fd00::1"}) {
    const auto made = renew_certificates({}, name, clock.now());
    REQUIRE(made.has_value());
    CHECK(check_lasting(*made, name, clock.now()).has_value());
  }
}

TEST_CASE("a folder's files change at once, are their owner's, and replace what stood there") {
  const testing::Tree tree;
  const std::string folder = fmt::format("{}/certificates", tree.path());
  const auto mode = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions()) & 0777;
  };
  const Certificates one{{"a", "b"}, {"c", "d"}}, two{{"a", "b"}, {"e", "f"}};
  CHECK(read_certificates(folder).value() == Certificates());
  REQUIRE(write_certificates(folder, one).has_value());
  CHECK(read_certificates(folder).value() == one);
  std::map<std::string, std::string> files;
  for (const CertificateName& each : kCertificateNames) {
    const std::string path = fmt::format("{}/{}", folder, each.name);
    files[std::string(each.name)] = *read_file(path);
    CHECK(mode(path) == 0600);
    CHECK(fs::read_symlink(path).parent_path() == "..data");
  }
  CHECK(files == std::map<std::string, std::string>{{"ca-cert.pem", "a"},
                                                    {"ca-key.pem", "b"},
                                                    {"cert.pem", "c"},
                                                    {"tls.crt", "c"},
                                                    {"key.pem", "d"},
                                                    {"tls.key", "d"}});
  // What is there already is left alone; another file in the place of a link is replaced.
  const fs::path data = fs::read_symlink(fs::path(folder) / "..data");
  REQUIRE(write_certificates(folder, one).has_value());
  CHECK(fs::read_symlink(fs::path(folder) / "..data") == data);
  fs::remove(fs::path(folder) / "tls.key");
  REQUIRE(replace_file(fmt::format("{}/tls.key", folder), "stale").has_value());
  REQUIRE(write_certificates(folder, two).has_value());
  CHECK(read_certificates(folder).value() == two);
  CHECK(*read_file(fmt::format("{}/tls.key", folder)) == "f");
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder)) left.insert(entry.path().filename());
  CHECK(left.size() == 8);  // six links, ..data and what it leads to

  CHECK(write_certificates(fmt::format("{}/certificates/tls.key/x", tree.path()), one).has_error());
  // What cannot be finished leaves nothing behind, however often it is tried.
  fs::remove(fs::path(folder) / "..data");
  fs::create_directories(fs::path(folder) / "..data" / "in the way");
  const auto count = [&] { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); };
  const auto there = count();
  for (int i = 0; i < 3; ++i) CHECK(write_certificates(folder, one).has_error());
  CHECK(count() <= there + 1);  // the link that could not take its place
}

TEST_CASE("the environment says where the webhooks are served and kept") {
  using Environment = std::map<std::string, std::string>;
  const auto read = [](const Environment& variables, const std::string& flag = {}) {
    return webhook_settings(flag, [&](const char* name) -> std::optional<std::string> {
      const auto it = variables.find(name);
      return it == variables.end() ? std::nullopt : std::optional(it->second);
    });
  };
  const auto plain = read({{"WEBHOOK_HOST", ""}});
  REQUIRE(plain.has_value());
  CHECK(plain->port == 9876);
  CHECK(plain->folder == "/tmp/koordinator-webhook-certs");
  CHECK(plain->in_secret);
  CHECK(plain->ns == "koordinator-system");
  CHECK(plain->secret == "koordinator-webhook-certs");
  CHECK(plain->mutating == "koordinator-mutating-webhook-configuration");
  CHECK(plain->validating == "koordinator-validating-webhook-configuration");
  CHECK(plain->server_name() == "koordinator-webhook-service.koordinator-system.svc");

  const auto other = read({{"WEBHOOK_PORT", "1"}, {"WEBHOOK_HOST", "10.0.0.1"}, {"WEBHOOK_CERT_DIR", "/x"}});
  REQUIRE(other.has_value());
  CHECK(other->port == 1);
  CHECK_FALSE(other->in_secret);
  CHECK(other->server_name() == "10.0.0.1");
  CHECK(read({{"WEBHOOK_HOST", "a"}, {"WEBHOOK_CERT_WRITER", "secret"}})->in_secret);
  CHECK_FALSE(read({{"WEBHOOK_CERT_WRITER", "fs"}})->in_secret);
  for (const auto& [name, value] : Environment{{"WEBHOOK_PORT", "x"}, {"WEBHOOK_CERT_WRITER", "disk"}}) {
    const auto wrong = read({{name, value}});
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().message().starts_with(name));
  }
  CHECK(read({{"WEBHOOK_PORT", "65536"}}).has_error());
  CHECK(read({{"WEBHOOK_PORT", "1"}}, "0")->port == 0);
  CHECK(read({}, "x").error().message() == "--webhook-port: \"x\" is not a port, which is 0 to 65535");
}

}  // namespace
}  // namespace koord::manager
