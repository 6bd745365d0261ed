#include "koord/kube/config.hpp"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

using namespace koord;
using namespace koord::kube;

namespace {

const std::string kGood = R"(apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: c, user: u, namespace: team}
- name: two
  context: {cluster: c, user: nobody}
clusters:
- name: c
  cluster:
    server: https://10.0.0.1:6443/
    certificate-authority-data: Y2E=
    tls-server-name: kubernetes
users:
- name: u
  user:
    token: "secret"
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/koord-config-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string file = path + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
    return file;
  }
};

GetEnv env_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto it = values.find(name);
    if (it == values.end()) return std::nullopt;
    return it->second;
  };
}

}  // namespace

TEST_CASE("a kubeconfig gives server, credentials and namespace of its context") {
  const auto config = parse_kubeconfig(kGood, "k");
  REQUIRE(config.has_value());
  CHECK(config->server == "https://10.0.0.1:6443");
  CHECK(config->ca_pem == "ca");
  CHECK(config->tls_server_name == "kubernetes");
  CHECK(config->token == "secret");
  CHECK(config->default_namespace == "team");
  CHECK(config->warnings.empty());
  const auto json = parse_kubeconfig(
      R"({"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"http://h"}}]})",
      "j");
  REQUIRE(json.has_value());
  CHECK(json->default_namespace == "default");
  CHECK(json->warnings.size() == 1);
}

TEST_CASE("a bad kubeconfig is an error with file, line and field") {
  struct Row {
    std::string text;
    Code code;
    std::string message;
  };
  const Row rows[] = {
      {"", Code::parse, "k: is not a kubeconfig: expected a mapping"},
      {"a: [", Code::parse, "k:1: "},
      {std::string(400'000, '['), Code::parse, "k:1: nested too deeply"},
      {std::string(400'000, '{'), Code::parse, "k:1: nested too deeply"},
      {replaced(kGood, "token: \"secret\"", "token: " + std::string(400'000, '[')), Code::parse,
       "k:18: nested too deeply"},
      {replaced(kGood, "kind: Config", "kind: Pod"), Code::invalid, "k:2: kind: must be Config, not \"Pod\""},
      {replaced(kGood, "kind: Config", "kind: Config\nkind: Config"), Code::parse,
       "k:3: .kind: the key is there twice"},
      {replaced(kGood, "    token:", "    token: a\n    token:"), Code::parse,
       "k:19: .users[0].user.token: the key is there twice"},
      {replaced(kGood, "current-context: one", "current-context: none"), Code::not_found,
       "no entry of contexts is named \"none\""},
      {replaced(kGood, "user: u,", "user: v,"), Code::not_found, "no entry of users is named \"v\""},
      {replaced(kGood, "https://10", "ftp://10"), Code::invalid,
       "k:12: clusters[0].cluster.server: must start with"},
      {replaced(kGood, "https://10.0.0.1:6443/", "https:///"), Code::invalid,
       "k:12: clusters[0].cluster.server: names no host"},
      {replaced(kGood, "Y2E=", "Y2E"), Code::invalid,
       "k:13: clusters[0].cluster.certificate-authority-data: is not valid base64"},
      {replaced(kGood, "    tls-", "    proxy-url: http://p\n    tls-"), Code::unsupported,
       "k:14: clusters[0].cluster.proxy-url: proxies are not supported"},
      {replaced(kGood, "    tls-", "    insecure-skip-tls-verify: true\n    tls-"), Code::invalid,
       "cannot be true where a certificate authority is given"},
      {replaced(kGood, "    tls-", "    insecure-skip-tls-verify: maybe\n    tls-"), Code::invalid,
       "k:14: clusters[0].cluster.insecure-skip-tls-verify: must be true or false"},
      {replaced(kGood, "token: \"secret\"", "exec: {command: x}"), Code::unsupported,
       "users[0].user.exec: credential plugins are not supported"},
      {replaced(kGood, "token: \"secret\"", "client-certificate-data: Y2E="), Code::invalid,
       "client-certificate and client-key must be given together"},
      {replaced(kGood, "token: \"secret\"", "client-certificate: /none/such"), Code::io,
       "users[0].user.client-certificate: /none/such: No such file or directory"},
      {replaced(kGood, "token: \"secret\"", "token: [a]"), Code::invalid,
       "k:18: users[0].user.token: must be a string"},
      {replaced(kGood, "  context: {cluster: c, user: u, namespace: team}\n", ""), Code::not_found,
       "no entry of clusters is named \"\""},
      {replaced(kGood, "contexts:\n", "contexts: 5\nx:\n"), Code::invalid, "contexts: must be a list"},
  };
  for (const Row& row : rows) {
    INFO(row.message);
    const auto config = parse_kubeconfig(row.text, "k");
    REQUIRE(config.has_error());
    CHECK(config.error().code() == row.code);
    CHECK_THAT(config.error().message(), Catch::Contains(row.message));
  }
  const auto two = parse_kubeconfig(kGood, "k", "two");
  REQUIRE(two.has_error());
  CHECK_THAT(two.error().message(), Catch::Contains("\"nobody\""));
}

TEST_CASE("unverified TLS is a warning") {
  const auto config = parse_kubeconfig(
      replaced(kGood, "certificate-authority-data: Y2E=", "insecure-skip-tls-verify: true"), "k");
  REQUIRE(config.has_value());
  CHECK(config->insecure_skip_tls_verify);
  REQUIRE(config->warnings.size() == 1);
  CHECK_THAT(config->warnings[0], Catch::Contains("certificate is not verified"));
}

TEST_CASE("files of a kubeconfig are relative to it") {
  const Folder folder;
  folder.write("pki/ca.crt", "CA");
  std::string text = replaced(kGood, "certificate-authority-data: Y2E=", "certificate-authority: pki/ca.crt");
  text = replaced(text, "token: \"secret\"", "tokenFile: token");
  const auto config = load_kubeconfig(folder.write("config", text));
  REQUIRE(config.has_value());
  CHECK(config->ca_pem == "CA");
  CHECK(config->token_file == folder.path + "/token");
}

TEST_CASE("where the configuration comes from") {
  const Folder folder;
  const std::string file = folder.write("config", kGood);
  CHECK(find_config(file, "", env_of({})).has_value());
  CHECK(find_config("", "", env_of({{"KUBECONFIG", file}})).has_value());
  CHECK(find_config("", "", env_of({{"KUBECONFIG", file + ":" + file}})).error().code() == Code::unsupported);
  CHECK(find_config("", "", env_of({{"KUBECONFIG", file + "x"}})).error().code() == Code::io);
  folder.write(".kube/config", kGood);
  CHECK(find_config("", "", env_of({{"HOME", folder.path}})).has_value());
  CHECK(find_config("", "", env_of({{"HOME", folder.path + "/none"}})).error().code() == Code::not_found);
}

TEST_CASE("the service account of a pod") {
  const Folder folder;
  const std::string at = "var/run/secrets/kubernetes.io/serviceaccount/";
  folder.write(at + "ca.crt", "CA");
  const std::string token = folder.write(at + "token", "abc\n");
  folder.write(at + "namespace", "koordinator-system\n");
  const auto env = env_of({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}});
  const auto config = in_cluster_config(env, folder.path);
  REQUIRE(config.has_value());
  CHECK(config->server == "https://[fd00::1]:443");
  CHECK(config->token_file == token);
  CHECK(config->default_namespace == "koordinator-system");
  CHECK(in_cluster_config(env_of({}), folder.path).error().code() == Code::not_found);
  folder.write(at + "token", "");
  CHECK(in_cluster_config(env, folder.path).error().code() == Code::invalid);
}
