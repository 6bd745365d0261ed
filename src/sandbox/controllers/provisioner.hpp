// Provisioner: volumes for claims that ask for new ones, as a CSI driver would make them.
#pragma once

#include <map>
#include <string>

#include "sandbox/api/verbs.hpp"
#include "sandbox/controllers/volume_binder.hpp"
#include "sandbox/controllers/work_queue.hpp"
#include "sandbox/controllers/workloads.hpp"

namespace koord::sandbox {

/// On a StorageClass: "false" leaves its claims to someone else's provisioner.
inline constexpr const char* kProvision = "sandbox.koordinator.sh/provision";

/// Simulates the provisioner of every class but those of kNoProvisioner: 100 ms after a claim asks for it
/// there is a volume, which is where the selected node is, or for a class that waits for nobody in a zone of
/// the cluster, one after the other. Never out of space.
class Provisioner final : public Observer {
 public:
  explicit Provisioner(Verbs& verbs, Workloads::Create create = {});
  ~Provisioner() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Key {
    std::string ns, name;
    auto operator<=>(const Key&) const = default;
  };
  /// Where a volume can be used: keys and values of nodes' labels.
  using Place = std::map<std::string, std::string, std::less<>>;

  void sync(const Key& key);
  void make(const Key& key, const Object& claim, const json::Value& doc, const json::Value& settings,
            const Place& place);
  /// False where the node cannot have a volume of the class.
  bool place_at(const Object& node, const json::Value& settings, Place& place) const;
  Place place_anywhere(const Object& claim, const json::Value& settings) const;

  Verbs& verbs_;
  const Kind &claims_, &volumes_, &classes_, &nodes_, &csi_nodes_;
  const Workloads::Create create_;
  std::map<std::string, std::size_t> zones_;  // how many nodes each has
  std::map<std::string, MonoTime> due_;       // by the uid of a claim that has asked
  WorkQueue<Key> queue_;
};

}  // namespace koord::sandbox
