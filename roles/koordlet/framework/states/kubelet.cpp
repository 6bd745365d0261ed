// KubeletClient: see kubelet.hpp.
#include "framework/states/kubelet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/host/file.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/transport.hpp"

namespace koord::koordlet {

namespace {

/// The pods of a node: 110 are usual, 1 MiB; thousands of big ones still fit.
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;
/// Some kilobytes are usual.
constexpr std::size_t kMaxConfig = std::size_t{1} << 20;
/// Names of policies and their options are short, and there are a handful.
constexpr std::size_t kMaxName = 64, kMaxOptions = 64;
/// A million CPUs.
constexpr std::int64_t kMaxMilli = 1'000'000'000;

constexpr std::string_view kWaysOut =
    " (accepted is what the cluster's CA has signed, or the certificate in the kubelet's own pki folder on "
    "this "
    "host, which has to be readable below --var-lib-kubelet-dir; the token was not sent; "
    "--kubelet-skip-verify sends it unchecked, --kubelet-insecure-tls asks the read-only port without it)";

constexpr metrics::Metric kDuration{.name = "koordlet_kubelet_request_duration_seconds",
                                    .type = metrics::Type::histogram,
                                    .help = "How long the kubelet took to answer.",
                                    .labels = {"verb", "path", "code"},
                                    .bounds = metrics::exponential_bounds(0.001, 4, 7)};

/// What the kubelet serves with: rotated by the cluster, or made by itself.
std::string own_certificate(const std::string& folder) {
  for (const char* name : {"pki/kubelet-server-current.pem", "pki/kubelet.crt"})
    if (auto pem = read_file(folder + name, 1 << 20);
        pem && pem->find("BEGIN CERTIFICATE") != std::string::npos)
      return std::move(*pem);
  return "";
}

/// CPU of kubeReserved or systemReserved; nothing if it is no amount.
std::optional<std::int64_t> reserved_milli(const json::Value& config, std::string_view which) {
  const json::Value* const cpu = json::find(config, which, "cpu");
  if (cpu == nullptr || cpu->is_null()) return 0;
  const auto amount = api::Quantity::parse(cpu->text());
  if (!amount || amount->sign() < 0 || amount->milli_value() > kMaxMilli) return std::nullopt;
  return amount->milli_value();
}

void read_cpu_manager(const json::Value& said, KubeletConfig& config) {
  const auto text = [&said](std::string_view name, std::size_t most, std::string& to) {
    const std::string_view value = json::text_at(said, name);
    if (!value.empty() && value.size() <= most) to = value;
  };
  text("cpuManagerPolicy", kMaxName, config.cpu_policy);
  text("reservedSystemCPUs", kMaxConfig, config.reserved_cpus);
  text("topologyManagerPolicy", kMaxName, config.topology_policy);
  text("topologyManagerScope", kMaxName, config.topology_scope);
  config.static_cpu_policy = config.cpu_policy == "static";
  if (const json::Value* options = json::find(said, "cpuManagerPolicyOptions"))
    for (const json::Member& option : options->members().first(std::min(options->size(), kMaxOptions)))
      if (option.value.is_string()) config.cpu_policy_options.emplace_back(option.key(), option.value.text());
  std::ranges::sort(config.cpu_policy_options);
  const auto kube = reserved_milli(said, "kubeReserved"), system = reserved_milli(said, "systemReserved");
  config.reserved_milli = kube && system ? std::optional(*kube + *system) : std::nullopt;
}

}  // namespace

Result<KubeletAddress> kubelet_address(const api::Node& node, const KubeletSettings& settings) {
  const std::array<std::string_view, 6> order = {
      settings.address_type, "InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"};
  KubeletAddress address;
  const std::int32_t port = node.status.daemon_endpoints.kubelet_endpoint.port;
  address.port = settings.read_only          ? settings.read_only_port
                 : port > 0 && port <= 65535 ? static_cast<std::uint16_t>(port)
                                             : 10250;
  for (const std::string_view type : order)
    for (const api::NodeAddress& one : node.status.addresses)
      if (one.type.view() == type && !one.address.empty()) {
        address.host = one.address;
        return address;
      }
  return Error(Code::not_found,
               fmt::format("the node {} has no address to ask its kubelet at", node.metadata.name));
}

Result<KubeletConfig> read_kubelet_config(std::string_view json) {
  if (json.size() > kMaxConfig) return Error(Code::too_large, "the configuration has more than 1 MiB");
  KOORD_TRY(document, json::parse(json));
  KubeletConfig config;
  if (const json::Value* said = json::find(document, "kubeletconfig")) read_cpu_manager(*said, config);
  const std::string_view driver = json::text_at(document, "kubeletconfig", "cgroupDriver");
  if (driver == "cgroupfs") config.driver = host::CgroupDriver::cgroupfs;
  if (driver == "systemd") config.driver = host::CgroupDriver::systemd;
  auto root = host::kubelet_root(json::text_at(document, "kubeletconfig", "cgroupRoot"));
  if (!root) return std::move(root).error().context("cgroupRoot");
  config.root = std::move(*root);
  return config;
}

const metrics::Table KubeletClient::kMetrics = {&kDuration};

KubeletClient::KubeletClient(boost::asio::any_io_executor executor, Clock& clock, metrics::Registry& registry,
                             KubeletSettings settings, Credentials credentials)
    : executor_(std::move(executor)),
      clock_(clock),
      settings_(std::move(settings)),
      credentials_(std::move(credentials)),
      duration_(registry.histograms(kDuration)) {}

KubeletClient::~KubeletClient() = default;

void KubeletClient::set_address(KubeletAddress address) {
  if (address == address_) return;
  address_ = std::move(address);
  transport_.reset();
}

std::string KubeletClient::where() const {
  const bool v6 = address_.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", settings_.read_only ? "http" : "https", v6 ? "[" : "", address_.host,
                     v6 ? "]" : "", address_.port);
}

Result<> KubeletClient::connect() {
  if (transport_) return {};
  kube::ClientConfig config;
  if (!settings_.read_only) {
    KOORD_TRY(given, credentials_());
    config = std::move(given);
    config.tls_server_name.clear();
    // Whether the API server is verified says nothing about the kubelet.
    config.insecure_skip_tls_verify = settings_.skip_verify;
    config.pinned_cert_pem = own_certificate(settings_.folder);
  }
  config.server = where();
  net::PoolOptions options;
  options.max_connections = 1;
  options.connect_timeout = options.request_timeout = settings_.timeout;
  options.max_body = kMaxAnswer;
  KOORD_TRY(made, kube::make_transport(executor_, clock_, config, options));
  transport_ = std::move(made);
  return {};
}

Task<Result<std::string>> KubeletClient::get(std::string path) {
  const std::string at = where();
  if (auto connected = connect(); !connected) co_return std::move(connected).error().context(at);
  net::Request request;
  request.target = path;
  request.timeout = settings_.timeout;
  const MonoTime begun = clock_.mono();
  // The address may change while the kubelet answers: what is on its way keeps what it goes through.
  const std::shared_ptr<kube::Transport> through = transport_;
  Result<net::Response> response = co_await through->send(request);
  const double seconds = std::chrono::duration<double>(clock_.mono() - begun).count();
  duration_.with({"GET", path, response ? std::to_string(response->status) : "error"}).observe(seconds);
  if (!response) {
    Error error = std::move(response).error().context(at + path);
    const bool certificate = error.message().find("certificate is not accepted") != std::string::npos;
    if (transport_ == through) transport_.reset();  // the kubelet may have a new certificate
    if (certificate) co_return Error(error.code(), error.message() + std::string(kWaysOut));
    co_return error;
  }
  if (response->status == 401 || response->status == 403)
    co_return Error(response->status == 401 ? Code::unauthorized : Code::forbidden,
                    fmt::format("{}{}: status {}: the token does not allow it (needed: get on nodes/pods and "
                                "nodes/configz; before Kubernetes 1.33 on nodes/proxy)",
                                at, path, response->status));
  if (response->status != 200)
    co_return Error(Code::server_error, fmt::format("{}{}: status {}", at, path, response->status));
  co_return std::move(response->body);
}

}  // namespace koord::koordlet
