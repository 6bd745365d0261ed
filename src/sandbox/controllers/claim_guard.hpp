// ClaimGuard: claims live as long as pods use them, and pods' own claims are made with them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sandbox/api/verbs.hpp"
#include "sandbox/controllers/work_queue.hpp"
#include "sandbox/controllers/workloads.hpp"

namespace koord::sandbox {

/// The controllers of claim protection (a claim that is deleted goes when no pod on a node uses it) and of
/// ephemeral volumes (their claims are named after the pod and the volume, and go with the pod).
class ClaimGuard final : public Observer {
 public:
  explicit ClaimGuard(Verbs& verbs, Workloads::Create create = {});
  ~ClaimGuard() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Key {
    bool pod;  // else a claim
    std::string ns, name;
    auto operator<=>(const Key&) const = default;
  };

  void pod_changed(const Change& change);
  void release(const Key& key);
  void make_claims(const Key& key);

  Verbs& verbs_;
  const Kind &pods_, &claims_;
  const Workloads::Create create_;
  std::map<std::string, std::set<std::string>> users_;  // uids of pods on nodes, by the claim's key
  WorkQueue<Key> queue_;
};

}  // namespace koord::sandbox
