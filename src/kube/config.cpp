// Kubeconfig files and the in-cluster service account.
#include "koord/kube/config.hpp"

#include <yaml-cpp/yaml.h>

#include <array>
#include <filesystem>
#include <initializer_list>

#include "koord/base/base64.hpp"
#include "koord/base/file.hpp"
#include "koord/json/yaml.hpp"

namespace koord::kube {

namespace {

/// Code::io whatever the reason: Code::not_found is "not in a pod" here.
Result<std::string> content_of(const std::string& path, Source source = Source::file) {
  auto text = read_file(path, std::size_t{4} << 20, source);
  if (!text) return Error(Code::io, text.error().message());
  return text;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

/// One place of the document: a node with the name of the file and of the field.
class Place {
 public:
  Place(const std::string& file, std::string field, const YAML::Node& node)
      : file_(file), field_(std::move(field)), node_(node) {}

  Error error(const std::string& what, Code code = Code::invalid) const {
    std::string where = file_;
    if (node_.IsDefined() && node_.Mark().line >= 0) where += ":" + std::to_string(node_.Mark().line + 1);
    return Error(code, where + ": " + (field_.empty() ? "" : field_ + ": ") + what);
  }
  bool present() const { return node_.IsDefined() && !node_.IsNull(); }
  Place child(const std::string& key) const {
    // To ask a node that is absent for its type is misuse of yaml-cpp.
    const bool is_map = node_.IsDefined() && node_.IsMap();
    return Place(file_, field_.empty() ? key : field_ + "." + key,
                 is_map ? node_[key] : YAML::Node(YAML::NodeType::Undefined));
  }
  Result<std::string> text() const {
    if (!present()) return std::string();
    if (!node_.IsScalar()) return error("must be a string");
    return node_.Scalar();
  }
  Result<bool> flag() const {
    if (!present()) return false;
    if (node_.IsScalar() && node_.Scalar() == "true") return true;
    if (node_.IsScalar() && node_.Scalar() == "false") return false;
    return error("must be true or false");
  }
  Result<> map() const {
    if (present() && !node_.IsMap()) return error("must be a mapping");
    return {};
  }
  const YAML::Node& node() const { return node_; }
  const std::string& file() const { return file_; }
  const std::string& field() const { return field_; }

 private:
  const std::string& file_;
  std::string field_;
  const YAML::Node node_;
};

/// The entry of `list` (clusters, users, contexts) with that name; its payload is under `payload`.
Result<Place> named(const Place& root, const std::string& list, const std::string& payload,
                    const std::string& name) {
  const Place entries = root.child(list);
  if (entries.present() && !entries.node().IsSequence()) return entries.error("must be a list");
  if (entries.present()) {
    for (std::size_t i = 0; i < entries.node().size(); ++i) {
      const Place entry(root.file(), list + "[" + std::to_string(i) + "]", entries.node()[i]);
      KOORD_CHECK(entry.map());
      KOORD_TRY(found, entry.child("name").text());
      if (found != name) continue;
      const Place value = entry.child(payload);
      KOORD_CHECK(value.map());
      return value;
    }
  }
  return root.error("no entry of " + list + " is named \"" + name + "\"", Code::not_found);
}

std::string relative_to(const std::string& file, const std::string& path) {
  const std::filesystem::path p(path);
  if (p.is_absolute()) return path;
  return (std::filesystem::path(file).parent_path() / p).string();
}

/// A field that exists as FIELD (a file's name) and FIELD-data (base64); the data wins, as in kubectl.
/// `from`: the file, if it was one.
Result<std::string> file_or_data(const Place& place, const std::string& field, std::string& from) {
  const Place data = place.child(field + "-data");
  KOORD_TRY(encoded, data.text());
  if (!encoded.empty()) {
    auto decoded = decode_base64(encoded);
    if (!decoded) return data.error("is not valid base64");
    return std::move(*decoded);
  }
  const Place file = place.child(field);
  KOORD_TRY(path, file.text());
  if (path.empty()) return std::string();
  from = relative_to(place.file(), path);
  auto content = content_of(from);
  if (!content) return file.error(content.error().message(), Code::io);
  return content;
}

Result<> read_cluster(const Place& cluster, ClientConfig& config) {
  KOORD_TRY(server, cluster.child("server").text());
  if (server.empty()) return cluster.child("server").error("is missing: expected the API server's URL");
  if (!server.starts_with("https://") && !server.starts_with("http://"))
    return cluster.child("server").error("must start with https:// or http://, not \"" + server + "\"");
  while (server.ends_with('/')) server.pop_back();
  if (server.ends_with(':')) return cluster.child("server").error("names no host");
  config.server = server;
  KOORD_TRY(proxy, cluster.child("proxy-url").text());
  if (!proxy.empty())
    return cluster.child("proxy-url")
        .error("proxies are not supported: reach the API server directly", Code::unsupported);
  KOORD_TRY(ca, file_or_data(cluster, "certificate-authority", config.ca_file));
  config.ca_pem = ca;
  KOORD_TRY(name, cluster.child("tls-server-name").text());
  config.tls_server_name = name;
  const Place insecure = cluster.child("insecure-skip-tls-verify");
  KOORD_TRY(skip, insecure.flag());
  config.insecure_skip_tls_verify = skip;
  if (skip && !ca.empty()) return insecure.error("cannot be true where a certificate authority is given");
  if (skip)
    config.warnings.push_back(insecure.error("the API server's certificate is not verified").message());
  if (server.starts_with("http://"))
    config.warnings.push_back(cluster.child("server").error("the connection is not encrypted").message());
  return {};
}

Result<> read_user(const Place& user, ClientConfig& config) {
  for (const char* plugin : {"exec", "auth-provider"}) {
    const Place place = user.child(plugin);
    if (place.present())
      return place.error(
          "credential plugins are not supported: use a token, tokenFile or a client certificate",
          Code::unsupported);
  }
  for (const char* field : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    const Place place = user.child(field);
    if (place.present()) return place.error("impersonation is not supported", Code::unsupported);
  }
  KOORD_TRY(cert, file_or_data(user, "client-certificate", config.client_cert_file));
  KOORD_TRY(key, file_or_data(user, "client-key", config.client_key_file));
  if (cert.empty() != key.empty())
    return user.error("client-certificate and client-key must be given together");
  config.client_cert_pem = cert;
  config.client_key_pem = key;
  KOORD_TRY(token, user.child("token").text());
  KOORD_TRY(token_file, user.child("tokenFile").text());
  config.token = trimmed(token);
  if (!token_file.empty()) config.token_file = relative_to(user.file(), token_file);
  if (config.token.find_first_of("\r\n") != std::string::npos)
    return user.child("token").error("must be one line");
  KOORD_TRY(username, user.child("username").text());
  KOORD_TRY(password, user.child("password").text());
  config.username = username;
  config.password = password;
  return {};
}

}  // namespace

Result<ClientConfig> parse_kubeconfig(std::string_view text, const std::string& path,
                                      std::string_view context) {
  // What yaml-cpp takes silently: duplicate keys, a second document, aliases that unfold without end.
  const auto json = json::yaml_to_json(text);
  if (!json) return Error(Code::parse, path + ":" + json.error().message() + " (a kubeconfig is YAML)");
  const YAML::Node document = YAML::Load(std::string(text));
  const Place root(path, "", document);
  if (!document.IsMap()) return root.error("is not a kubeconfig: expected a mapping", Code::parse);
  KOORD_TRY(kind, root.child("kind").text());
  if (!kind.empty() && kind != "Config")
    return root.child("kind").error("must be Config, not \"" + kind + "\"");

  KOORD_TRY(current, root.child("current-context").text());
  const std::string wanted = context.empty() ? current : std::string(context);
  if (wanted.empty()) return root.child("current-context").error("is not set, and no context was asked for");
  KOORD_TRY(chosen, named(root, "contexts", "context", wanted));
  KOORD_TRY(cluster_name, chosen.child("cluster").text());
  KOORD_TRY(user_name, chosen.child("user").text());
  KOORD_TRY(ns, chosen.child("namespace").text());

  ClientConfig config;
  config.source = path;
  if (!ns.empty()) config.default_namespace = ns;
  KOORD_TRY(cluster, named(root, "clusters", "cluster", cluster_name));
  KOORD_CHECK(read_cluster(cluster, config));
  if (!user_name.empty()) {
    KOORD_TRY(user, named(root, "users", "user", user_name));
    KOORD_CHECK(read_user(user, config));
  }
  return config;
}

Result<ClientConfig> load_kubeconfig(const std::string& path, std::string_view context) {
  KOORD_TRY(text, content_of(path, Source::stream));
  return parse_kubeconfig(text, path, context);
}

Result<ClientConfig> in_cluster_config(const GetEnv& env, const std::string& root) {
  const auto host = env("KUBERNETES_SERVICE_HOST");
  const auto port = env("KUBERNETES_SERVICE_PORT");
  if (!host || !port || host->empty() || port->empty())
    return Error(Code::not_found,
                 "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  const std::string folder = root + "/var/run/secrets/kubernetes.io/serviceaccount/";
  ClientConfig config;
  config.source = "the pod's service account";
  const bool ipv6 = host->find(':') != std::string::npos;
  config.server = "https://" + (ipv6 ? "[" + *host + "]" : *host) + ":" + *port;
  KOORD_TRY(ca, content_of(folder + "ca.crt"));
  config.ca_pem = ca;
  config.ca_file = folder + "ca.crt";
  config.token_file = folder + "token";
  KOORD_TRY(token, content_of(config.token_file));
  if (trimmed(token).empty()) return Error(Code::invalid, config.token_file + ": is empty");
  if (const auto ns = content_of(folder + "namespace"); ns && !trimmed(*ns).empty())
    config.default_namespace = trimmed(*ns);
  return config;
}

Result<ClientConfig> find_config(const std::string& kubeconfig, std::string_view context, const GetEnv& env) {
  if (!kubeconfig.empty()) {
    auto config = load_kubeconfig(kubeconfig, context);
    if (!config) return std::move(config).error().context("--kubeconfig");
    return config;
  }
  if (const auto named = env("KUBECONFIG"); named && !named->empty()) {
    if (named->find(':') != std::string::npos)
      return Error(Code::unsupported,
                   "KUBECONFIG: a list of files is not supported, name one: \"" + *named + "\"");
    auto config = load_kubeconfig(*named, context);
    if (!config) return std::move(config).error().context("KUBECONFIG");
    return config;
  }
  auto inside = in_cluster_config(env);
  if (inside || inside.error().code() != Code::not_found) return inside;
  const auto home = env("HOME");
  const std::string file = home && !home->empty() ? *home + "/.kube/config" : "";
  if (!file.empty() && std::filesystem::exists(file)) return load_kubeconfig(file, context);
  return Error(Code::not_found,
               "no API server is configured: give --kubeconfig, set KUBECONFIG, or run in a pod (" +
                   inside.error().message() + (file.empty() ? "" : "; there is no " + file) + ")");
}

}  // namespace koord::kube
