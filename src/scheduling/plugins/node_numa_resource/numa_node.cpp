// NumaNode: see numa_node.hpp.
#include "scheduling/plugins/node_numa_resource/numa_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::scheduling::node_numa_resource {

namespace {

constexpr std::int32_t kMaxZone = 63;  // what a mask has room for
/// Sums of what is reported stay numbers.
constexpr std::int64_t kMostAmount = 1'000'000'000'000'000;

/// Nobody reports more of a memory node: one that does is not looked at.
constexpr std::size_t kMostResources = 256;

/// What cannot be used of an object, in one text.
class Unread {
 public:
  void add(std::string_view what) {
    if (text_.size() < kMostText) text_.append(text_.empty() ? "" : "; ").append(what);
  }
  std::string take() { return std::move(text_); }

  /// Nothing where it cannot be read.
  template <class T>
  std::optional<T> read(const api::SymbolMap& annotations) {
    auto value = api::read_annotation<T>(annotations);
    if (value) return std::move(*value);
    add(value.error().message());
    return std::nullopt;
  }
  CpuSet parse(std::string_view list, std::string_view annotation, std::string_view member) {
    auto cpus = CpuSet::parse(list);
    if (cpus) return std::move(*cpus);
    add(fmt::format("{}: {}: {}", annotation, member, cpus.error().message()));
    return {};
  }

 private:
  static constexpr std::size_t kMostText = 1024;
  std::string text_;
};

/// The number of "node-3".
std::optional<std::int32_t> zone_number(std::string_view name) {
  constexpr std::string_view kPrefix = "node-";
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0 || number > kMaxZone) return {};
  return number;
}

ZoneAmounts read_zones(const std::vector<api::TopologyZone>& zones, Unread& unread) {
  ZoneAmounts read;
  std::vector<std::pair<std::int32_t, const api::TopologyZone*>> of;
  for (const api::TopologyZone& zone : zones) {
    if (zone.type != "Node") continue;
    const auto number = zone_number(zone.name.view());
    if (!number) {
      unread.add(fmt::format("zones: \"{}\": expected a name from node-0 to node-{}",
                             zone.name.view().substr(0, 64), kMaxZone));
    } else if (zone.resources.size() > kMostResources) {
      unread.add(fmt::format("zones: \"{}\": has {} resources, expected at most {}", zone.name.view(),
                             zone.resources.size(), kMostResources));
    } else {
      of.emplace_back(*number, &zone);
    }
  }
  std::ranges::stable_sort(of, {}, &decltype(of)::value_type::first);
  const auto again = std::ranges::unique(of, {}, &decltype(of)::value_type::first);
  if (!again.empty()) unread.add("zones: a memory node is there twice: its first entry counts");
  of.erase(again.begin(), of.end());
  for (const auto& [number, zone] : of) {
    read.zones.push_back(number);
    for (const api::TopologyResource& resource : zone->resources)
      if (read.resource(resource.name) == ZoneAmounts::kNowhere) read.resources.push_back(resource.name);
    if (read.resources.size() > kMostResources) {
      unread.add(fmt::format("zones: they name more than {} resources", kMostResources));
      return {};
    }
  }
  std::ranges::sort(read.resources, {}, [](const Symbol& name) { return name.view(); });
  read.amounts.assign(read.zones.size() * read.resources.size(), ZoneAmounts::kAbsent);
  for (std::size_t i = 0; i < of.size(); ++i)
    for (const api::TopologyResource& resource : of[i].second->resources)
      read.at(i, read.resource(resource.name)) = std::clamp<std::int64_t>(
          resource.name == cpu_name() ? resource.allocatable.milli_value() : resource.allocatable.value(), 0,
          kMostAmount);
  return read;
}

NumaPolicy kubelet_policy(const std::vector<Symbol>& policies) {
  for (const Symbol& policy : policies) {
    if (policy == "BestEffort") return NumaPolicy::best_effort;
    if (policy == "Restricted") return NumaPolicy::restricted;
    if (policy == "SingleNUMANodePodLevel") return NumaPolicy::single_numa_node;
  }
  return NumaPolicy::none;
}

std::optional<Ratios> read_ratios(const api::SymbolMap& annotations, Unread& unread) {
  const auto said = unread.read<api::AmplificationRatios>(annotations);
  if (!said) return {};
  Ratios ratios;
  for (const auto& [name, ratio] : said->ratios) ratios.emplace_back(Symbol(name), ratio);
  return ratios;
}

double ratio_of(const Ratios& ratios, const Symbol& resource) {
  for (const auto& [name, ratio] : ratios)
    if (name == resource) return ratio;
  return 1;
}

}  // namespace

const Symbol& cpu_name() {
  static const Symbol kCpuName("cpu");
  return kCpuName;
}

std::int64_t amplified(std::int64_t amount, double ratio) {
  if (!(ratio > 1)) return amount;
  const double product = std::ceil(static_cast<double>(amount) * ratio);
  constexpr double kMost = 1e17;
  return product < kMost ? static_cast<std::int64_t>(product) : static_cast<std::int64_t>(kMost);
}

std::size_t ZoneAmounts::zone(std::int32_t id) const {
  const auto it = std::ranges::lower_bound(zones, id);
  return it != zones.end() && *it == id ? static_cast<std::size_t>(it - zones.begin()) : kNowhere;
}
std::size_t ZoneAmounts::resource(const Symbol& name) const {
  const auto it = std::ranges::find(resources, name);
  return it != resources.end() ? static_cast<std::size_t>(it - resources.begin()) : kNowhere;
}
NumaMask ZoneAmounts::all() const {
  NumaMask mask = 0;
  for (const std::int32_t zone : zones) mask |= NumaMask{1} << zone;
  return mask;
}

std::shared_ptr<const CpuTopology> KnownCpus::read(const api::SymbolMap& annotations) {
  const auto text = api::annotation_text(annotations, api::CpuTopology::kAnnotation);
  if (!text) return std::make_shared<const CpuTopology>(CpuTopology::unread(text.error().message()));
  auto& known = known_[std::string(text->value_or(""))];
  if (auto cpus = known.lock()) return cpus;
  auto reported = api::read_annotation<api::CpuTopology>(annotations);
  auto cpus = std::make_shared<const CpuTopology>(
      !reported ? CpuTopology::unread(reported.error().message())
                : CpuTopology(*reported ? **reported : api::CpuTopology()));
  known = cpus;
  if (known_.size() >= sweep_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * known_.size() + 64;
  }
  return cpus;
}

std::shared_ptr<const NodeTopology> read_topology(const api::NodeResourceTopology& object, KnownCpus& cpus) {
  const api::SymbolMap& annotations = object.metadata.annotations;
  auto topology = std::make_shared<NodeTopology>();
  Unread unread;
  topology->cpus = cpus.read(annotations);
  // Of what cannot be read the text has the key.
  if (const std::string& defect = topology->cpus->defect(); !defect.empty())
    unread.add(topology->cpus->valid() ? fmt::format("{}: {}", api::CpuTopology::kAnnotation, defect)
                                       : defect);
  if (const auto allocs = unread.read<api::PodCpuAllocs>(annotations))
    for (const api::PodCpuAlloc& pod : allocs->pods)
      if (pod.managed_by_kubelet && !pod.uid.empty())
        topology->reserved =
            topology->reserved | unread.parse(pod.cpuset, api::PodCpuAllocs::kAnnotation, "cpuset");
  if (const auto kubelet = unread.read<api::KubeletCpuManagerPolicy>(annotations)) {
    topology->reserved =
        topology->reserved |
        unread.parse(kubelet->reserved_cpus, api::KubeletCpuManagerPolicy::kAnnotation, "reservedCPUs");
    topology->kubelet_policy = kubelet->policy.str();
    topology->kubelet_options = kubelet->options;
    topology->kubelet_reserved = kubelet->reserved_cpus;
    topology->kubelet_static = kubelet->policy == "static";
    topology->kubelet_full_pcpus =
        topology->kubelet_static && api::value_or(kubelet->options, "full-pcpus-only") == "true";
  }
  if (const auto reservation = unread.read<api::NodeReservation>(annotations))
    topology->reserved = topology->reserved | unread.parse(reservation->reserved_cpus,
                                                           api::NodeReservation::kAnnotation, "reservedCPUs");
  if (const auto system = unread.read<api::SystemQosResource>(annotations);
      system && system->cpuset_exclusive.value_or(true))
    topology->reserved =
        topology->reserved | unread.parse(system->cpuset, api::SystemQosResource::kAnnotation, "cpuset");

  topology->policy = kubelet_policy(object.topology_policies);
  topology->zones = read_zones(object.zones, unread);
  const std::size_t cpu = topology->zones.resource(cpu_name());
  for (std::size_t i = 0; cpu != ZoneAmounts::kNowhere && i < topology->zones.zones.size(); ++i) {
    const CpuTopology::Zone* const zone = topology->cpus->zone(topology->zones.zones[i]);
    std::int64_t& amount = topology->zones.at(i, cpu);
    if (zone == nullptr || amount == ZoneAmounts::kAbsent) continue;
    amount =
        std::max<std::int64_t>(amount - 1000 * std::int64_t{(zone->cpus & topology->reserved).size()}, 0);
  }
  topology->ratios = read_ratios(annotations, unread);
  topology->unread = unread.take();
  return topology;
}

NumaNode make_numa_node(const api::Node* node, std::shared_ptr<const NodeTopology> topology) {
  NumaNode made;
  made.topology = std::move(topology);
  const NodeTopology* const reported = made.topology.get();
  static const api::ObjectMeta kNothing;
  const api::ObjectMeta& said = node != nullptr ? node->metadata : kNothing;

  const std::string_view bind = api::value_or(said.labels, api::kCpuBindPolicyLabel);
  if (bind == "FullPCPUsOnly" || (reported != nullptr && reported->kubelet_full_pcpus)) {
    made.bind = BindPolicy::full_pcpus;
  } else if (bind == "SpreadByPCPUs") {
    made.bind = BindPolicy::spread_by_pcpus;
  }
  made.policy = parse_numa_policy(api::value_or(said.labels, api::kNumaTopologyPolicyLabel));
  if (made.policy == NumaPolicy::none && reported != nullptr) made.policy = reported->policy;
  const std::string_view strategy = api::value_or(said.labels, api::kNumaAllocateStrategyLabel);
  if (!strategy.empty())
    made.strategy =
        strategy == "MostAllocated" ? ZoneStrategy::most_allocated : ZoneStrategy::least_allocated;

  const auto ratios = api::read_annotation<api::AmplificationRatios>(said.annotations);
  made.ratio_is_wrong = ratios.has_error();
  made.zone_ratio_is_wrong = made.ratio_is_wrong && (reported == nullptr || !reported->ratios);
  Unread unread;  // said by ratio_is_wrong
  const Ratios of_node = read_ratios(said.annotations, unread).value_or(Ratios());
  made.cpu_ratio = ratio_of(of_node, cpu_name());
  made.ratios = reported != nullptr && reported->ratios ? *reported->ratios : of_node;
  made.zone_cpu_ratio = ratio_of(made.ratios, cpu_name());
  if (reported == nullptr) return made;
  made.zones = reported->zones;
  // What its agent amplifies itself it says with its ratios.
  if (!reported->ratios) {
    for (std::size_t r = 0; r < made.zones.resources.size(); ++r) {
      const double ratio = ratio_of(of_node, made.zones.resources[r]);
      for (std::size_t z = 0; z < made.zones.zones.size(); ++z)
        if (std::int64_t& amount = made.zones.at(z, r); amount != ZoneAmounts::kAbsent)
          amount = amplified(amount, ratio);
    }
  }
  return made;
}

}  // namespace koord::scheduling::node_numa_resource
