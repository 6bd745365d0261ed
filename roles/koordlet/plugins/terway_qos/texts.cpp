// Rates, priorities and their two texts: see texts.hpp.
#include "plugins/terway_qos/texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "framework/model/inventory.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/pod_io.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/json/writer.hpp"

namespace koord::koordlet::terway_qos {
namespace {

constexpr std::string_view kPolicy = "terway-qos";
/// As the original writes it, wherever the hierarchy is mounted.
constexpr std::string_view kNetCls = "/sys/fs/cgroup/net_cls/";
constexpr std::uint64_t kBits = 8;
constexpr int kAll = 100;  // percent
constexpr std::size_t kMostOfText = 64;

Result<NodeRates::Class> class_rates(const api::NetworkQosConfig& said, std::uint64_t total) {
  NodeRates::Class rates;
  KOORD_TRY(rx_min, rate_of(said.ingress_request, total));
  KOORD_TRY(rx_max, rate_of(said.ingress_limit, total));
  KOORD_TRY(tx_min, rate_of(said.egress_request, total));
  KOORD_TRY(tx_max, rate_of(said.egress_limit, total));
  rates = {.tx_min = tx_min, .tx_max = tx_max, .rx_min = rx_min, .rx_max = rx_max};
  return rates;
}

Result<> read_class(const api::Box<api::ResourceQos>& of, std::uint64_t total, std::string_view name,
                    NodeRates::Class& rates) {
  if (!of || !of->network_qos || !of->network_qos->enable.value_or(false)) return {};
  auto read = class_rates(*of->network_qos, total);
  if (!read) return std::move(read).error().context(name);
  rates = *read;
  return {};
}

std::uint64_t bytes_of(const std::optional<api::Quantity>& bits) {
  return bits ? static_cast<std::uint64_t>(std::max<std::int64_t>(bits->value(), 0)) / kBits : 0;
}

void add_pod(const PodInfo& pod, json::Writer& json, std::vector<std::string>& warnings) {
  api::PodNetworkQos limits;
  if (auto said = api::read_annotation<api::PodNetworkQos>(pod.object->metadata.annotations)) {
    if (*said) limits = std::move(**said);
  } else {
    warnings.push_back(fmt::format("pod {}/{}: {}", pod.ns, pod.name, said.error().message()));
  }
  json.key(pod.uid).begin_object();
  json.member("podName", pod.name).member("podNamespace", pod.ns).member("podUID", pod.uid);
  json.member("prio", priority(*pod.object));
  json.member("cgroupDir", fmt::format("{}{}", kNetCls, pod.group));
  json.key("qosConfig").begin_object();
  json.member("ingressBandwidth", bytes_of(limits.ingress_limit));
  json.member("egressBandwidth", bytes_of(limits.egress_limit));
  json.end_object().end_object();
}

}  // namespace

Result<std::uint64_t> rate_of(const std::optional<api::IntOrString>& part, std::uint64_t total) {
  if (!part) return std::uint64_t{0};
  if (!part->is_string()) {
    const int percent = part->int_value();
    if (percent < 0 || percent > kAll)
      return Error(Code::invalid, fmt::format("{}: expected 0 to 100 percent", percent));
    // The original takes bits for bytes here.
    return (total / kAll * static_cast<std::uint64_t>(percent) +
            total % kAll * static_cast<std::uint64_t>(percent) / kAll) /
           kBits;
  }
  const std::string_view text = part->string_value().view();
  const auto bits = api::Quantity::parse(text);
  if (!bits || bits->sign() < 0)
    return Error(Code::invalid,
                 fmt::format("\"{}\": expected bits a second, as 10M", text.substr(0, kMostOfText)));
  const auto value = static_cast<std::uint64_t>(bits->value());
  if (value > total)
    return Error(Code::invalid, fmt::format("\"{}\" is more than the whole bandwidth, {}",
                                            text.substr(0, kMostOfText), total));
  return value / kBits;
}

Result<NodeRates> node_rates(const api::NodeSloSpec& slo) {
  NodeRates rates;
  if (!slo.system_strategy) return rates;
  const api::Quantity& bandwidth = slo.system_strategy->total_network_bandwidth;
  if (bandwidth.sign() < 0)
    return Error(Code::invalid,
                 fmt::format("totalNetworkBandwidth: {} is below zero", bandwidth.to_string()));
  const auto total = static_cast<std::uint64_t>(bandwidth.value());
  rates.tx = rates.rx = total / kBits;
  const api::ResourceQosStrategy* const qos = slo.resource_qos_strategy.get();
  if (qos == nullptr) return rates;
  KOORD_CHECK(read_class(qos->ls_class, total, "lsClass.networkQOS", rates.ls));
  KOORD_CHECK(read_class(qos->be_class, total, "beClass.networkQOS", rates.be));
  return rates;
}

std::string to_text(const NodeRates& rates) {
  std::string text = fmt::format("hw_tx_bps_max {}\nhw_rx_bps_max {}\n", rates.tx, rates.rx);
  const std::pair<std::string_view, const NodeRates::Class*> classes[] = {{"l1", &rates.ls},
                                                                          {"l2", &rates.be}};
  for (const auto& [name, of] : classes)
    text += fmt::format(
        "offline_{0}_tx_bps_min {1}\noffline_{0}_tx_bps_max {2}\noffline_{0}_rx_bps_min {3}\n"
        "offline_{0}_rx_bps_max {4}\n",
        name, of->tx_min, of->tx_max, of->rx_min, of->rx_max);
  return text;
}

int priority(const api::Pod& pod) {
  switch (api::koord_qos(pod)) {
    case api::KoordQos::system: return 0;
    case api::KoordQos::lse:
    case api::KoordQos::lsr:
    case api::KoordQos::ls: return 1;
    case api::KoordQos::be: return 2;
    case api::KoordQos::none: break;
  }
  const std::string_view kubernetes = pod.status.qos_class.view();
  if (kubernetes == "BestEffort") return 2;
  return kubernetes == "Guaranteed" || kubernetes == "Burstable" ? 1 : 0;
}

std::optional<Texts> texts_of(const Inventory& inventory, std::string& error) {
  if (!inventory.slo && !inventory.slo_known) return std::nullopt;
  Texts texts;
  const api::ResourceQosStrategy* const qos =
      inventory.slo ? inventory.slo->resource_qos_strategy.get() : nullptr;
  texts.wanted = qos != nullptr && qos->policies && qos->policies->net_qos_policy == kPolicy;
  if (!texts.wanted) return texts;
  if (!inventory.pods_known) return std::nullopt;
  const auto rates = node_rates(*inventory.slo);
  if (!rates) {
    error = rates.error().message();
    return std::nullopt;
  }
  texts.node = to_text(*rates);
  json::Writer json(texts.pods);
  json.begin_object();
  for (const auto& pod : inventory.all_pods)
    if (pod->object != nullptr) add_pod(*pod, json, texts.warnings);
  json.end_object();
  return texts;
}

}  // namespace koord::koordlet::terway_qos
