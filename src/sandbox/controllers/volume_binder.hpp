// VolumeBinder: claims get volumes, and volumes say whose they are.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "sandbox/api/verbs.hpp"
#include "sandbox/controllers/work_queue.hpp"

namespace koord::sandbox {

inline constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
inline constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";
inline constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
inline constexpr const char* kStorageProvisioner = "volume.kubernetes.io/storage-provisioner";
inline constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";

/// The class of a claim or of a volume; empty: none.
std::string_view storage_class_of(const json::Value& object);

/// Has a volume's spec name its claim; the reference, which another field may be added to.
json::Value& write_claim(json::Value& volume_spec, const Object& claim, json::Arena& arena);

/// The persistent volume controller: binds claims to volumes (by name, by claimRef, the smallest that fits;
/// of a class that waits for its first consumer only what a scheduler has chosen), asks for volumes to be
/// provisioned, gives claims without a class the default one that came later, says which volumes are
/// Available, Bound or Released and which claims Lost, reclaims volumes, and holds those in use back from
/// deletion. It writes no events and lets nothing grow.
class VolumeBinder final : public Observer {
 public:
  explicit VolumeBinder(Verbs& verbs);
  ~VolumeBinder() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Key {
    /// Of a class: all claims that wait and name it.
    enum class Target : std::uint8_t { claim, volume, storage_class };
    Target target;
    std::string ns, name;
    auto operator<=>(const Key&) const = default;
  };
  /// What a claim asks of a volume, and what a volume has.
  struct VolumeTraits {
    std::string storage_class, mode, attributes_class;
    std::int64_t bytes = 0;
    unsigned access = 0;  // bits

    explicit VolumeTraits(const json::Value& object, const json::Value* size);
    bool met_by(const VolumeTraits& volume) const;
  };
  /// A volume that a claim may get, in the order in which they are tried: few access modes first, then small.
  using Free = std::tuple<int, std::int64_t, std::string>;
  struct Volume {
    VolumeTraits has;
    std::string claim, uid;  // of claimRef: "namespace/name", or empty
    bool free, deleting;
  };

  void claim_changed(const Change& change);
  void volume_changed(const Change& change);
  void forget_volume(const std::string& name);
  void sync(const Key& key);
  void sync_claim(const Object& claim);
  void sync_unbound(const Object& claim, const json::Value& doc);
  void sync_volume(const Object& volume);
  /// Empty: there is none.
  std::string match(const Object& claim, const json::Value& doc, bool delayed) const;
  void bind(const std::string& volume, const Object& claim);
  void set_phase(const Kind& kind, const Object& object, std::string_view phase);
  void reclaim(const Object& volume, const json::Value& doc);

  Verbs& verbs_;
  const Kind &claims_, &volumes_, &classes_;
  std::map<std::string, Volume> known_;
  std::map<std::string, std::set<Free>> free_;             // by class
  std::map<std::string, std::set<std::string>> reserved_;  // names of volumes by the claim of their claimRef
  std::map<std::string, std::set<Key>> waiting_;           // claims without a volume by class
  std::map<std::string, std::pair<std::string, std::string>> claims_of_;  // by claim: its class, its volume
  std::map<std::string, std::set<Key>> naming_;  // claims by the volume that they name
  WorkQueue<Key> queue_;
};

}  // namespace koord::sandbox
