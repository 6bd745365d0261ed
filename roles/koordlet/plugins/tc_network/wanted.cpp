// Rates, classes and who is in them: see wanted.hpp.
#include "plugins/tc_network/wanted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "framework/model/inventory.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/pod_io.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/values/quantity.hpp"

namespace koord::koordlet::tc_network {
namespace {

using host::HtbClass;
using host::TcHandle;

constexpr std::string_view kPolicy = "tc";
constexpr std::uint64_t kBits = 8, kAll = 100;  // percent
constexpr std::size_t kMostOfText = 64;
/// A total below is a mistake, as one in Mbit a second: it would cut the node off. One above no card has.
constexpr std::uint64_t kLeastTotal = 1'000'000, kMostTotal = 100'000'000'000'000;
constexpr std::uint64_t kLeastPodBits = 8000;
/// HTB wants a rate of each class. Bytes a second.
constexpr std::uint64_t kLeastRate = 1000;
/// What a class sends before its neighbour's turn: where many share a leaf, more. Bytes.
constexpr std::uint32_t kQuantum = 15'140, kSharedQuantum = 4 * kQuantum;
constexpr std::size_t kMostAddresses = 8;  // of a pod

struct Tier {
  std::uint16_t minor;
  std::uint32_t priority;  // 0 goes first
};
constexpr Tier kSystem{kSystemMinor, 1}, kLs{kLsMinor, 2}, kBe{kBeMinor, 3};

Result<> read_class(const api::Box<api::ResourceQos>& of, std::uint64_t total, EgressRates::Class& rates) {
  if (!of || !of->network_qos || !of->network_qos->enable.value_or(false)) return {};
  const api::NetworkQosConfig& said = *of->network_qos;
  std::uint64_t least = 0, most = total;
  if (said.egress_request) {
    auto bits = bits_of(*said.egress_request, total);
    if (!bits) return std::move(bits).error().context("egressRequest");
    least = *bits;
  }
  if (said.egress_limit) {
    auto bits = bits_of(*said.egress_limit, total);
    if (!bits) return std::move(bits).error().context("egressLimit");
    most = std::min(*bits, total);
  }
  if (most == 0) most = least;  // as the original has it
  if (most / kBits == 0) return Error(Code::invalid, "egressLimit: expected more than 0");
  if (least > most)
    return Error(Code::invalid, fmt::format("egressRequest: {} is more than egressLimit, {}", least, most));
  rates = {.on = true, .least = least / kBits, .most = most / kBits};
  return {};
}

/// The pod's tier; nothing: it has no class of Koordinator's.
std::optional<Tier> tier_of(const api::Pod& pod) {
  switch (api::koord_qos(pod)) {
    case api::KoordQos::system: return kSystem;
    case api::KoordQos::lse:
    case api::KoordQos::lsr:
    case api::KoordQos::ls: return kLs;
    case api::KoordQos::be: return kBe;
    case api::KoordQos::none: break;
  }
  return std::nullopt;
}

std::uint32_t number_of(std::string_view uid) {
  std::uint32_t hash = 2166136261;  // FNV-1a: the same in each agent
  for (const char c : uid) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash;
}

class Collector {
 public:
  Collector(const EgressRates& rates, Wanted& wanted) : rates_(rates), wanted_(wanted) {}

  void add_tiers() {
    const std::uint64_t given = rates_.ls.least + rates_.be.least;
    add({kWholeMinor, 0}, host::kTcRoot, rates_.total, rates_.total, kSharedQuantum);
    add_tier(kSystem, rates_.total - given, rates_.total);
    if (rates_.ls.on) add_tier(kLs, rates_.ls.least, rates_.ls.most);
    if (rates_.be.on) add_tier(kBe, rates_.be.least, rates_.be.most);
  }

  void add_pod(const PodInfo& pod) {
    const auto tier = pod.object ? tier_of(*pod.object) : std::nullopt;
    if (!tier) return;
    const std::uint16_t in = tier->minor == kLsMinor && rates_.ls.on   ? kLsMinor
                             : tier->minor == kBeMinor && rates_.be.on ? kBeMinor
                                                                       : kSystemMinor;
    std::uint16_t leaf = in | kLeaf;
    if (const std::uint64_t most = limit_of(pod); most > 0) {
      const std::uint16_t own = minor_of(pod.uid);
      if (own == 0) return warn(pod, "no class is left for it");
      const std::uint64_t ceil = std::min(most, in == kLsMinor   ? rates_.ls.most
                                                : in == kBeMinor ? rates_.be.most
                                                                 : rates_.total);
      add({own, tier->priority}, class_of(in), std::min(kLeastRate, ceil), ceil, kQuantum);
      leaf = own;
      limited_ = true;
    }
    if (leaf == kDefaultMinor) return;
    if (wanted_.groups.size() >= host::kMostGroupClasses) return warn(pod, "too many pods have classes");
    if (!pod.group.empty() && pod.group.find("..") == std::string::npos)
      wanted_.groups[pod.group] = class_of(leaf);
    if (!pod.object->spec.host_network) add_addresses(pod, tier->priority, class_of(leaf));
  }

  bool limited() const { return limited_; }

 private:
  void add(Tier tier, TcHandle parent, std::uint64_t rate, std::uint64_t ceil, std::uint32_t quantum) {
    wanted_.classes.push_back(
        host::htb_class(class_of(tier.minor), parent, rate, ceil, tier.priority, quantum));
  }
  void add_tier(Tier tier, std::uint64_t least, std::uint64_t most) {
    add(tier, class_of(kWholeMinor), std::min(std::max(least, kLeastRate), most), most, kSharedQuantum);
    add({static_cast<std::uint16_t>(tier.minor | kLeaf), tier.priority}, class_of(tier.minor),
        std::min(kLeastRate, most), most, kSharedQuantum);
  }
  void warn(const PodInfo& pod, std::string_view what) {
    wanted_.warnings.push_back(fmt::format("pod {}/{}: {}", pod.ns, pod.name, what));
  }

  /// Bytes a second that the pod asks to be held to; 0: it says nothing that can be had.
  std::uint64_t limit_of(const PodInfo& pod) {
    const auto said = api::read_annotation<api::PodNetworkQos>(pod.object->metadata.annotations);
    if (!said) {
      warn(pod, said.error().message());
      return 0;
    }
    if (!*said || !(*said)->egress_limit) return 0;
    const auto bits = static_cast<std::uint64_t>(std::max<std::int64_t>((*said)->egress_limit->value(), 0));
    if (bits > 0 && bits < kLeastPodBits)
      warn(pod, fmt::format("{}: egressLimit {}: expected at least {} bits a second",
                            api::PodNetworkQos::kAnnotation, bits, kLeastPodBits));
    return bits < kLeastPodBits ? 0 : bits / kBits;
  }

  /// 0: none is left.
  std::uint16_t minor_of(std::string_view uid) {
    constexpr std::uint32_t kMany = kLastPodMinor - kFirstPodMinor + 1;
    if (minors_.size() >= kMany) return 0;
    std::uint32_t place = number_of(uid) % kMany;
    while (!minors_.insert(static_cast<std::uint16_t>(kFirstPodMinor + place)).second)
      place = (place + 1) % kMany;
    return static_cast<std::uint16_t>(kFirstPodMinor + place);
  }

  void add_addresses(const PodInfo& pod, std::uint32_t priority, TcHandle in) {
    const api::PodStatus& status = pod.object->status;
    std::vector<std::string_view> texts = {status.pod_ip.view()};
    for (const api::PodIp& one : status.pod_ips)
      if (texts.size() <= kMostAddresses) texts.push_back(one.ip.view());
    const auto hosts = host::parse_address(status.host_ip.view());
    for (const std::string_view text : texts) {
      if (text.empty()) continue;
      const auto address = host::parse_address(text);
      if (!address || !host::is_routable(*address) || address == hosts) {
        warn(pod, fmt::format("status.podIPs: \"{}\" is no address of a pod", text.substr(0, kMostOfText)));
        continue;
      }
      // An address that has another pod by now, while this one still ends: the more urgent one's class.
      const auto [it, fresh] = priorities_.emplace(*address, priority);
      if (!fresh && it->second <= priority) continue;
      it->second = priority;
      wanted_.addresses[*address] = in;
    }
  }

  const EgressRates& rates_;
  Wanted& wanted_;
  std::set<std::uint16_t> minors_;
  std::map<host::IpAddress, std::uint32_t> priorities_;
  bool limited_ = false;
};

}  // namespace

Result<std::uint64_t> bits_of(const api::IntOrString& part, std::uint64_t total) {
  if (!part.is_string()) {
    const int percent = part.int_value();
    if (percent < 0 || percent > static_cast<int>(kAll))
      return Error(Code::invalid, fmt::format("{}: expected 0 to 100 percent", percent));
    const auto share = static_cast<std::uint64_t>(percent);
    return total / kAll * share + total % kAll * share / kAll;
  }
  const std::string_view text = part.string_value().view();
  const auto bits = api::Quantity::parse(text);
  if (!bits || bits->sign() < 0)
    return Error(Code::invalid,
                 fmt::format("\"{}\": expected bits a second, as 10M", text.substr(0, kMostOfText)));
  return static_cast<std::uint64_t>(bits->value());
}

Result<EgressRates> egress_rates(const api::NodeSloSpec& slo) {
  EgressRates rates;
  if (!slo.system_strategy) return rates;
  const api::Quantity& bandwidth = slo.system_strategy->total_network_bandwidth;
  if (bandwidth.sign() == 0) return rates;
  const std::uint64_t total = bandwidth.sign() < 0 ? 0 : static_cast<std::uint64_t>(bandwidth.value());
  if (total < kLeastTotal || total > kMostTotal)
    return Error(Code::invalid, fmt::format("totalNetworkBandwidth: {}: expected 1M to 100T bits a second",
                                            bandwidth.to_string()));
  rates.total = total / kBits;
  const api::ResourceQosStrategy* const qos = slo.resource_qos_strategy.get();
  if (qos == nullptr) return rates;
  if (auto read = read_class(qos->ls_class, total, rates.ls); !read)
    return std::move(read).error().context("lsClass.networkQOS");
  if (auto read = read_class(qos->be_class, total, rates.be); !read)
    return std::move(read).error().context("beClass.networkQOS");
  if (rates.ls.least + rates.be.least > rates.total)
    return Error(Code::invalid, "lsClass and beClass: their egressRequest are more than the whole bandwidth");
  return rates;
}

std::optional<Wanted> wanted_of(const Inventory& inventory, std::string& error) {
  if (!inventory.slo && !inventory.slo_known) return std::nullopt;
  Wanted wanted;
  if (!inventory.slo) return wanted;
  const api::ResourceQosStrategy* const qos = inventory.slo->resource_qos_strategy.get();
  const std::string_view policy =
      qos != nullptr && qos->policies ? qos->policies->net_qos_policy.view() : std::string_view();
  if (!policy.empty() && policy != kPolicy) return wanted;
  const auto rates = egress_rates(*inventory.slo);
  if (!rates) {
    error = rates.error().message();
    return std::nullopt;
  }
  if (rates->total == 0) return wanted;
  if (!inventory.pods_known) return std::nullopt;
  Collector collector(*rates, wanted);
  collector.add_tiers();
  for (const auto& pod : inventory.all_pods) collector.add_pod(*pod);
  if (!rates->ls.on && !rates->be.on && !collector.limited()) return Wanted{};
  std::ranges::sort(wanted.classes, {}, &HtbClass::handle);
  wanted.wanted = true;
  return wanted;
}

}  // namespace koord::koordlet::tc_network
