// VolumeZone: a pod goes where the zone and region labels of its PersistentVolumes say.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/volumes/pod_claims.hpp"

namespace koord::scheduling {

namespace volume_zone {
namespace {

constexpr std::size_t kLabels = 4;
/// A volume's old label is compared with the node's old one, or else with its new one.
struct Label {
  const char* name;
  std::size_t newer;
};
constexpr std::array<Label, kLabels> kTopology = {{
    {"failure-domain.beta.kubernetes.io/zone", 2},
    {"failure-domain.beta.kubernetes.io/region", 3},
    {"topology.kubernetes.io/zone", 2},
    {"topology.kubernetes.io/region", 3},
}};

/// What one label of a volume asks of nodes.
struct Asked {
  std::size_t label;
  std::vector<Symbol> values;  // any of them
  friend bool operator==(const Asked&, const Asked&) = default;
};

/// "a__b" is a or b; absent: an empty one is among them, and the label says nothing.
std::optional<std::vector<Symbol>> values_of(std::string_view label) {
  std::vector<Symbol> values;
  for (std::string_view left = label;;) {
    const std::size_t end = std::min(left.find("__"), left.size());
    std::string_view value = left.substr(0, end);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    if (value.empty()) return std::nullopt;
    values.emplace_back(value);
    if (end == left.size()) return values;
    left.remove_prefix(end + 2);
  }
}

void ask(const api::PersistentVolume& volume, std::vector<Asked>& out) {
  for (std::size_t i = 0; i < kLabels; ++i) {
    const Symbol* label = volume.metadata.labels.find(kTopology[i].name);
    if (label == nullptr) continue;
    auto values = values_of(label->view());
    if (!values) continue;
    out.push_back({i, std::move(*values)});
  }
}
/// Claims of one zone ask the same.
void keep_each_once(std::vector<Asked>& all) {
  std::ranges::sort(all, {}, [](const Asked& a) { return std::tie(a.label, a.values); });
  const auto again = std::ranges::unique(all);
  all.erase(again.begin(), again.end());
}
std::vector<Asked> asked_by(const api::PersistentVolume& volume) {
  std::vector<Asked> asked;
  ask(volume, asked);
  return asked;
}

std::string not_found(std::string_view kind, std::string_view name) {
  return fmt::format("{} \"{}\" not found", kind, name);
}

struct State final : PodState {
  std::vector<Asked> asked;
};

class VolumeZone final : public Plugin,
                         public PerPodFilterPlugin,
                         public PreFilterPlugin,
                         public EventPlugin {
 public:
  explicit VolumeZone(const PluginContext& context)
      : claims_(context.objects.watch<api::PersistentVolumeClaim>()),
        volumes_(context.objects.watch<api::PersistentVolume>()),
        classes_(context.objects.watch<api::StorageClass>()),
        claim_events_(claims_.events(ObjectAction::add, ObjectAction::update)),
        volume_events_(volumes_.events(ObjectAction::add, ObjectAction::update)),
        class_events_(classes_.events(ObjectAction::add)),
        elsewhere_(context.verdicts.intern({context.index, true, {"node(s) had no available volume zone"}})) {
    for (std::size_t i = 0; i < kLabels; ++i) keys_[i] = context.topology.key(kTopology[i].name);
  }

  bool sign(const PodInfo&, Signature&) const override { return true; }

  std::unique_ptr<PodState> pre_filter_pod(const PodInfo& pod, PreFiltered& said) override {
    std::vector<Asked> asked;
    for (const api::Volume& v : pod.pod->spec.volumes) {
      if (!v.persistent_volume_claim) continue;
      said.rejected = ask_claim(pod.pod->metadata.namespace_, v.persistent_volume_claim->claim_name, asked);
      if (!said.rejected.empty()) return nullptr;
    }
    keep_each_once(asked);
    said.skip = asked.empty();
    if (asked.empty()) return nullptr;
    auto state = std::make_unique<State>();
    state->asked = std::move(asked);
    return state;
  }

  /// Domains are numbers: what a label asks for becomes one flag a domain.
  void filter_pod(PodState& state, const NodeTable&, std::span<const Row> rows,
                  std::span<VerdictId> out) const override {
    std::array<const DomainId*, kLabels> columns;
    for (std::size_t i = 0; i < kLabels; ++i) columns[i] = keys_[i]->column().data();
    std::fill(out.begin(), out.end(), kPass);
    for (const Asked& a : static_cast<State&>(state).asked) {
      const std::size_t newer = kTopology[a.label].newer;
      const std::vector<bool> good = domains(a, a.label), newer_good = domains(a, newer);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Row row = rows[i];
        const DomainId domain = columns[a.label][row], other = columns[newer][row];
        const bool fits = domain != kNoDomain ? good[domain] : other != kNoDomain && newer_good[other];
        if (!fits && is_anywhere(columns, row)) out[i] = elsewhere_;
      }
    }
  }

  EventMask events() const override {
    return claim_events_ | volume_events_ | class_events_ |
           events_of(EventKind::node_add, EventKind::node_label);
  }
  EventMask events_of_pods() const override { return claim_events_ | volume_events_ | class_events_; }
  bool concerns(const PodInfo& pod, const ClusterEvent& event) const override {
    if (!claim_events_.has(event.kind)) return true;
    const auto& claim = static_cast<const api::PersistentVolumeClaim*>(event.new_object)->metadata;
    return volumes::names_claim(*pod.pod, claim.namespace_, claim.name);
  }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.kind == EventKind::node_add) return true;
    if (event.kind == EventKind::node_label) return moved(*event.old_node, *event.new_node);
    if (claim_events_.has(event.kind)) return true;
    if (volume_events_.has(event.kind)) {
      const auto* before = static_cast<const api::PersistentVolume*>(event.old_object);
      const auto& now = *static_cast<const api::PersistentVolume*>(event.new_object);
      if (before != nullptr && asked_by(*before) == asked_by(now)) return false;
      return any_claim(*pod.pod, [&](const auto& c) { return c.spec.volume_name == now.metadata.name; });
    }
    const auto& made = *static_cast<const api::StorageClass*>(event.new_object);
    return made.volume_binding_mode == "WaitForFirstConsumer" &&
           any_claim(*pod.pod, [&](const auto& c) { return volumes::class_of(c) == made.metadata.name; });
  }

 private:
  /// Why the claim keeps the pod away from all nodes; empty: it does not.
  std::string ask_claim(const Symbol& ns, const std::string& name, std::vector<Asked>& asked) const {
    if (name.empty()) return "PersistentVolumeClaim had no name";
    const auto claim = claims_.find(ns, name);
    if (!claim) return not_found("persistentvolumeclaim", name);
    const Symbol& volume_name = claim->spec.volume_name;
    if (volume_name.empty()) return wait_for_volume(*claim);
    const auto volume = volumes_.find({}, volume_name);
    if (!volume) return not_found("persistentvolume", volume_name);
    ask(*volume, asked);
    return {};
  }

  std::string wait_for_volume(const api::PersistentVolumeClaim& claim) const {
    const std::string_view name = volumes::class_of(claim);
    if (name.empty()) return "PersistentVolumeClaim had no pv name and storageClass name";
    const auto of = classes_.find({}, name);
    if (!of) return not_found("storageclass.storage.k8s.io", name);
    if (!of->volume_binding_mode)
      return fmt::format("VolumeBindingMode not set for StorageClass \"{}\"", name);
    return *of->volume_binding_mode == "WaitForFirstConsumer" ? "" : "PersistentVolume had no name";
  }

  std::vector<bool> domains(const Asked& asked, std::size_t label) const {
    const TopologyKey& key = *keys_[label];
    std::vector<bool> good(key.id_limit());
    for (const Symbol& value : asked.values)
      if (const DomainId id = key.find(value); id != kNoDomain) good[id] = true;
    return good;
  }

  /// A node without any of the labels belongs to a cluster without zones: there anything goes.
  static bool is_anywhere(const std::array<const DomainId*, kLabels>& columns, Row row) {
    return std::any_of(columns.begin(), columns.end(),
                       [&](auto* column) { return column[row] != kNoDomain; });
  }

  static bool moved(const api::Node& before, const api::Node& now) {
    return std::any_of(kTopology.begin(), kTopology.end(), [&](const Label& label) {
      const Symbol *a = before.metadata.labels.find(label.name), *b = now.metadata.labels.find(label.name);
      return (a == nullptr) != (b == nullptr) || (a != nullptr && *a != *b);
    });
  }

  template <class Is>
  bool any_claim(const api::Pod& pod, const Is& is) const {
    return std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(), [&](const api::Volume& v) {
      if (!v.persistent_volume_claim) return false;
      const auto claim = claims_.find(pod.metadata.namespace_, v.persistent_volume_claim->claim_name);
      return claim && is(*claim);
    });
  }

  ObjectStore<api::PersistentVolumeClaim>& claims_;
  ObjectStore<api::PersistentVolume>& volumes_;
  ObjectStore<api::StorageClass>& classes_;
  const EventMask claim_events_, volume_events_, class_events_;
  const VerdictId elsewhere_;
  std::array<TopologyRef, kLabels> keys_;
};

}  // namespace
}  // namespace volume_zone

extern const PluginEntry kVolumeZone{.name = "VolumeZone", .make = &make<volume_zone::VolumeZone>};

}  // namespace koord::scheduling
