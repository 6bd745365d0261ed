// VolumeRestrictions: no two pods on a node with the same disk, and nowhere two with a claim that is
// ReadWriteOncePod.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugins/volume_restrictions/volume_users.hpp"
#include "scheduling/volumes/pod_claims.hpp"

namespace koord::scheduling {

namespace volume_restrictions {
namespace {

struct State final : PodState {
  Symbol ns;
  std::vector<Disk> disks;                    // the pod's own
  std::vector<VolumeUsers::User> disk_users;  // whom it must not meet
  std::vector<std::string> claims;            // those of its claims that one pod may have
  std::vector<VolumeUsers::User> claim_users;
};

class VolumeRestrictions final : public Plugin,
                                 public PerPodFilterPlugin,
                                 public PreFilterPlugin,
                                 public EventPlugin {
 public:
  explicit VolumeRestrictions(const PluginContext& context)
      : nodes_(context.nodes),
        users_(context.shared.get<VolumeUsers>(context)),
        claims_(context.objects.watch<api::PersistentVolumeClaim>()),
        claim_events_(claims_.events(ObjectAction::add)),
        disk_taken_(context.verdicts.intern({context.index, false, {"node(s) had no available disk"}})),
        claim_taken_(context.verdicts.intern(
            {context.index,
             false,
             {"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
              "in-use by another pod"}})) {}

  bool sign(const PodInfo&, Signature&) const override { return true; }

  std::unique_ptr<PodState> pre_filter_pod(const PodInfo& pod, PreFiltered& said) override {
    said.skip = true;
    if (pod.pod->spec.volumes.empty()) return nullptr;
    auto state = std::make_unique<State>();
    said.rejected = find_claims(*pod.pod, *state);
    state->disks = disks_of(*pod.pod);
    if (state->disks.empty() && state->claim_users.empty()) {
      said.skip = said.rejected.empty();
      return nullptr;
    }
    said.skip = false;
    for (const Disk& disk : state->disks)
      for (const VolumeUsers::DiskUser& user : users_.of_disk(disk.key))
        if (conflict(disk, user.disk)) state->disk_users.push_back(user);
    std::sort(state->disk_users.begin(), state->disk_users.end(),
              [](const auto& a, const auto& b) { return a.row < b.row; });
    return state;
  }

  void filter_pod(PodState& state, const NodeTable&, std::span<const Row> rows,
                  std::span<VerdictId> out) const override {
    const auto& s = static_cast<State&>(state);
    std::fill(out.begin(), out.end(), s.claim_users.empty() ? kPass : claim_taken_);
    auto user = s.disk_users.begin();
    for (std::size_t i = 0; i < rows.size() && user != s.disk_users.end(); ++i) {
      while (user != s.disk_users.end() && user->row < rows[i]) ++user;
      if (user != s.disk_users.end() && user->row == rows[i]) out[i] = disk_taken_;
    }
  }

  VerdictId filter_pod_view(PodState& state, const NodeTable&, const NodeView& view) const override {
    const auto& s = static_cast<State&>(state);
    const auto stays = [&](const VolumeUsers::User& user) {
      return std::find(view.removed().begin(), view.removed().end(), user.pod) == view.removed().end();
    };
    const auto there = [&](const VolumeUsers::User& user) { return user.row == view.row() && stays(user); };
    const auto comes = [&](const auto& meets) {
      return std::any_of(view.added().begin(), view.added().end(),
                         [&](const PodInfo* other) { return meets(*other->pod); });
    };
    if (std::any_of(s.disk_users.begin(), s.disk_users.end(), there) ||
        (!s.disks.empty() &&
         comes([&](const api::Pod& other) { return conflict(s.disks, disks_of(other)); })))
      return disk_taken_;
    const auto has_claim = [&](const api::Pod& other) {
      return other.metadata.namespace_ == s.ns &&
             std::any_of(s.claims.begin(), s.claims.end(), [&](auto& claim) { return uses(other, claim); });
    };
    return std::any_of(s.claim_users.begin(), s.claim_users.end(), stays) || comes(has_claim) ? claim_taken_
                                                                                              : kPass;
  }

  EventMask events() const override {
    return claim_events_ |
           events_of(EventKind::assigned_pod_delete, EventKind::node_add, EventKind::node_delete);
  }
  EventMask events_of_pods() const override { return events(); }
  bool concerns(const PodInfo& pod, const ClusterEvent& event) const override {
    if (!claim_events_.has(event.kind)) return true;
    const auto& claim = static_cast<const api::PersistentVolumeClaim*>(event.new_object)->metadata;
    return volumes::names_claim(*pod.pod, claim.namespace_, claim.name);
  }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    const api::Pod& own = *pod.pod;
    const auto& volumes = own.spec.volumes;
    const auto any_claim = [&](const auto& is) {
      return std::any_of(volumes.begin(), volumes.end(), [&](const api::Volume& v) {
        return v.persistent_volume_claim && is(v.persistent_volume_claim->claim_name);
      });
    };
    switch (event.kind) {
      // The disks at other nodes may be taken.
      case EventKind::node_add: return !disks_of(own).empty();
      // The pods on it count no longer.
      case EventKind::node_delete: return any_claim([](const std::string&) { return true; });
      case EventKind::assigned_pod_delete: {
        const api::Pod& gone = *event.old_pod;
        return conflict(disks_of(own), disks_of(gone)) ||
               (gone.metadata.namespace_ == own.metadata.namespace_ &&
                any_claim([&](const std::string& name) { return uses(gone, name); }));
      }
      default: return true;  // its claim is there
    }
  }

 private:
  /// What rejects the pod at once: a claim that is not there.
  std::string find_claims(const api::Pod& pod, State& state) const {
    state.ns = pod.metadata.namespace_;
    std::set<std::string_view> met;
    for (const api::Volume& v : pod.spec.volumes) {
      if (!v.persistent_volume_claim) continue;
      const std::string& name = v.persistent_volume_claim->claim_name;
      const auto claim = claims_.find(state.ns, name);
      if (!claim) return fmt::format("persistentvolumeclaim \"{}\" not found", name);
      const auto& modes = claim->spec.access_modes;
      if (std::find(modes.begin(), modes.end(), "ReadWriteOncePod") == modes.end()) continue;
      if (met.insert(name).second) state.claims.push_back(name);
    }
    for (const std::string& name : state.claims)
      for (const VolumeUsers::User& user : users_.of_claim(state.ns, name))
        if (nodes_.node(user.row)) state.claim_users.push_back(user);
    return {};
  }

  const NodeTable& nodes_;
  const VolumeUsers& users_;
  ObjectStore<api::PersistentVolumeClaim>& claims_;
  const EventMask claim_events_;
  const VerdictId disk_taken_, claim_taken_;
};

}  // namespace
}  // namespace volume_restrictions

extern const PluginEntry kVolumeRestrictions{.name = "VolumeRestrictions",
                                             .make = &make<volume_restrictions::VolumeRestrictions>};

}  // namespace koord::scheduling
