// ResourceClaims: claims for devices are made with pods that name templates, reserved as long as pods use
// them, and go with them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "sandbox/api/verbs.hpp"
#include "sandbox/controllers/work_queue.hpp"
#include "sandbox/controllers/workloads.hpp"
#include "sandbox/kinds/device_claims.hpp"

namespace koord::sandbox {

/// kube-controller-manager's resource claim controller. All of it follows changes: of pods, claims and
/// templates. What was refused (a webhook, a namespace that ends) is tried again, at longer and longer
/// intervals.
class ResourceClaims final : public Observer {
 public:
  explicit ResourceClaims(Verbs& verbs, Workloads::Create create = {});
  ~ResourceClaims() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Key {
    bool pod;  // else a claim
    std::string ns, name;
    auto operator<=>(const Key&) const = default;
  };
  /// What making claims for a pod has come to.
  struct Making {
    std::set<std::string> under_way;  // names in the pod's spec
    int refused = 0;                  // times in a row
    MonoTime not_before{};
    std::string missing = {};  // the key of the template that it waits for
  };
  enum class Made { done, later };

  void pod_changed(const Change& change);
  void claim_changed(const Change& change);
  void forget(const Object& pod);
  /// Which claims a pod uses, so that it is looked at when they change. `pod` may be null.
  void note_users(const Object* before, const Object* pod);
  void look_at(const Object& pod);
  bool needs_work(const Object& pod) const;

  void sync_pod(const Key& key);
  Made make_claims(const Key& key, const Object& pod, const json::Value& doc,
                   std::map<std::string, std::string>& names);
  bool make_claim(const Key& key, const Object& pod, const std::string& pod_claim,
                  std::string_view template_name);
  void write_statuses(const Object& pod, const std::map<std::string, std::string>& names);
  void reserve(const Object& pod);
  /// The name of a claim that was made for it; empty if there is none.
  std::string claim_made_for(const Object& pod, const std::string& pod_claim) const;

  void sync_claim(const Key& key);
  bool may_run(const Object& claim, const json::Value& user) const;
  /// Takes the finalizer off; the claim goes with it if it is being deleted.
  void unprotect(const Key& key);
  void drop_unused(const Object& claim);

  Verbs& verbs_;
  const Kind &pods_, &claims_, &templates_;
  const Workloads::Create create_;
  std::map<std::string, std::set<std::string>, std::less<>> users_;  // names of pods, by the claim's key
  /// By the uid of their pod: what the pod calls a claim, and its name.
  std::map<std::string, std::set<std::pair<std::string, std::string>>, std::less<>> made_;
  std::map<std::string, std::set<std::string>, std::less<>> waiting_;  // names of pods, by the template's key
  std::map<std::string, Making> making_;                               // by the pod's uid
  WorkQueue<Key> queue_;
};

}  // namespace koord::sandbox
