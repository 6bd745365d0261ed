// QuotaBook: ElasticQuotas and pods as the cluster has them, in trees of quotas.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "koord/api/koordinator/quota.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/elastic_quota/args.hpp"
#include "scheduling/plugins/elastic_quota/tree.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling::elastic_quota {

/// What is told of changes, so that pods that wait hear of them.
class QuotaListener {
 public:
  virtual ~QuotaListener() = default;
  /// Less of the quota is used, or its object is another.
  virtual void quota_changed(std::string_view name) = 0;
  /// What quotas may use may be another now.
  virtual void shares_changed() = 0;
};

/// One for all profiles; the arguments of the first one count. What it knows follows from the objects alone:
/// quotas, pods and nodes may come in any order. Belongs to the engine's thread.
class QuotaBook final : public ClusterObserver {
 public:
  QuotaBook(const PluginContext& context, const ElasticQuotaArgs& args);

  /// A quota that pods may be counted in; without a tree: there is none.
  struct Place {
    QuotaTree* tree = nullptr;
    QuotaId quota = kNoQuota;
    friend bool operator==(const Place&, const Place&) = default;
  };

  /// The quota that a pod belongs to: the one that its label names, else one that is called as its namespace
  /// and lies in it, else one that names the namespace, else the default quota, which also has the pods of
  /// quotas that are not there. Under the gate DisableDefaultQuota the label alone counts.
  Place place_of(const api::Pod& pod) const;
  Place find(std::string_view name) const;
  /// By id; the default one is "".
  const std::map<std::string, std::unique_ptr<QuotaTree>, std::less<>>& trees() const { return trees_; }
  QuotaTree& default_tree() { return *trees_.find("")->second; }

  void pod_seen(const std::shared_ptr<const api::Pod>& pod);
  void pod_left(const api::Pod& pod);
  /// It is on its way to a node; what it asks for is used.
  void reserve(const api::Pod& pod);
  void unreserve(const api::Pod& pod);
  /// For as long as something is tried: what a pod that is on a node, or on its way there, uses is free,
  /// until it is brought back. Nobody hears of it.
  void set_aside(const api::Pod& pod);
  void bring_back(const api::Pod& pod);
  /// Counted, and where; without a tree: it is not.
  Place counted_in(const api::Pod& pod) const;
  /// Where this very object is counted, with what; nullptr: it is not, or another one of the pod is. Until
  /// the next change.
  std::pair<Place, const Amounts*> counts(const std::shared_ptr<const api::Pod>& pod) const;

  struct Counted {
    std::shared_ptr<const api::Pod> pod;
    bool assigned = false;  // it uses what it asks for
  };
  /// Those that are counted in the quota itself, in no order. It looks at all pods.
  std::vector<Counted> pods_of(Place place) const;

  /// All that counts of what a pod asks for.
  api::ResourceList resources(const api::Pod& pod) const;
  /// What a pod asks for, of resources that any quota names.
  Amounts requests(const api::Pod& pod) const;
  const std::string& resource_name(ResourceId resource) const { return names_[resource]; }
  /// As Kubernetes writes an amount of the resource.
  api::Quantity quantity(ResourceId resource, std::int64_t amount) const;

  /// Another one after each change of what is known.
  std::uint64_t version() const { return version_; }

  void listen(QuotaListener& listener) { listener_ = &listener; }
  bool has_listener() const { return listener_ != nullptr; }

  // ClusterObserver
  void pod_added(Row, const PodInfo&) override {}
  void pod_removed(Row, const PodInfo&) override {}
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

 private:
  /// What an ElasticQuota says.
  struct Facts {
    api::QuotaTerms terms;
    api::ResourceList min, max;
    std::optional<api::ResourceList> total;  // of a tree
  };
  struct Known {
    std::shared_ptr<const api::Pod> pod;
    std::string label;  // the quota that it names; of those that name none the namespace counts
    Place place;
    PodId id = 0;  // in the tree, if it is counted
    bool reserved = false;
  };

  void object_changed(const api::ElasticQuota* before, const api::ElasticQuota* now);
  void apply(const std::string& name);
  void leave_tree(const std::string& name);
  void put(const std::string& name, const Facts& facts);
  void put_built_in(std::string_view name, const api::ResourceList& max);
  void set_totals();
  Amounts amounts(const api::ResourceList& list);
  ResourceId resource(std::string_view name);
  std::string_view name_for(std::string_view label, std::string_view ns) const;
  void index(Known& known, bool there);
  void place_again(const std::unordered_set<Known*>& pods);
  void place_pods(std::string_view label, const std::set<std::string>& namespaces);
  void move(Known& known, Place to);
  void count(Known& known);
  void assign(Known& known);
  Known* known_of(const api::Pod& pod);
  void told_less(Place place) const;
  std::vector<std::string> path_of(const std::string& name) const;
  bool is_ignored(const api::Pod& pod) const;

  const Clock& clock_;
  const ElasticQuotaArgs args_;
  const bool multi_tree_, no_default_, ignores_overhead_, ignores_ended_, ignores_ending_;
  TreeOptions options_;
  QuotaListener* listener_ = nullptr;
  std::uint64_t version_ = 0;
  std::map<std::string, std::unique_ptr<QuotaTree>, std::less<>> trees_;
  std::vector<std::string> names_;  // of resources
  std::unordered_map<std::string, ResourceId> numbers_;
  bool new_resource_ = false;
  std::map<std::string, std::int64_t, std::less<>> allocatable_;  // of all nodes, also what no quota names
  std::map<std::string, std::map<std::string, Facts>, std::less<>> objects_;    // by name, by namespace
  std::map<std::string, std::string, std::less<>> tree_of_;                     // the quotas that are there
  std::map<std::string, std::set<std::string>, std::less<>> namespace_quotas_;  // by what they list
  std::unordered_map<std::string, Known> pods_;                                 // by namespace/name
  std::unordered_map<std::string, std::unordered_set<Known*>> labelled_, unlabelled_;  // by label, namespace
};

}  // namespace koord::scheduling::elastic_quota
