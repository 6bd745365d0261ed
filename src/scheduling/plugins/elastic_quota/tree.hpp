// QuotaTree: quotas, the pods that are counted in them, and what each quota may use now.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/cluster/resources.hpp"
#include "scheduling/plugins/elastic_quota/shares.hpp"

namespace koord::scheduling::elastic_quota {

/// Amounts of some resources, each named once, in no order; cpu in milli, the others in their units.
using Amounts = std::vector<Amount>;

/// A quota as its object says. Of resources that `max` does not name a quota counts no pods of its own.
struct QuotaSpec {
  std::string name;
  std::string parent;      // that there need not be (yet)
  bool is_parent = false;  // what the object says of itself; nothing follows from it here
  bool lends = true;       // what it does not ask for of its min goes to others
  Amounts min, max, weight;
  friend bool operator==(const QuotaSpec&, const QuotaSpec&) = default;
};

/// A quota of the tree: a small number, used again when it is gone.
using QuotaId = std::uint32_t;
constexpr QuotaId kNoQuota = std::numeric_limits<QuotaId>::max();
/// A pod of the tree, in the same way.
using PodId = std::uint32_t;

/// What is known of a quota and one resource. "Below" is what its own pods and the quotas under it come to.
struct QuotaFigures {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  std::int64_t max = kNone, min = kNone;  // kNone: the object does not name the resource
  std::int64_t weight = 0;
  // Of its own pods.
  std::int64_t self_request = 0, self_used = 0;
  std::int64_t self_non_preemptible_request = 0, self_non_preemptible_used = 0;
  // Below. What a quota under it asks for counts up to that one's max.
  std::int64_t child_request = 0, used = 0;
  std::int64_t non_preemptible_request = 0, non_preemptible_used = 0;
  std::int64_t request = 0;  // child_request; where the quota does not lend its min at least
  std::int64_t limited = 0;  // of that what its parent hears of: max at most
  // Where used room is guaranteed (TreeOptions): used by its own pods and guaranteed below, and the more of
  // that and min.
  std::int64_t allocated = 0, guaranteed = 0;
  // Whether any pod has ever asked for it, or used it, below: what is printed of a quota names it then.
  bool asked = false, taken = false;
  // The same of pods that cannot be preempted.
  bool kept_asked = false, kept_taken = false;

  bool in_max() const { return max != kNone; }
  std::int64_t min_or_zero() const { return min == kNone ? 0 : min; }
};

struct TreeOptions {
  bool scale_min = true;         // mins that are too much together count for less
  bool guarantee_usage = false;  // what is used is never taken back; nothing is lent
  bool built_in = true;          // the quotas kSystemQuota and kDefaultQuota are there
};

/// One tree of quotas, below the root `koordinator-root-quota`, which is always there. The numbers are those
/// of Koordinator's GroupQuotaManager once all has settled, and follow from what has been told alone, not
/// from the order of it: a quota may come before its parent and after its pods.
///
/// A change of a pod costs what its path to the root costs, and ends below the first quota whose limited
/// request it does not change. What a quota may use (runtime()) is computed when it is asked for, and only
/// for the levels of its path of which something has changed since.
///
/// Belongs to one thread. Ids that are not there are the caller's mistake.
class QuotaTree {
 public:
  explicit QuotaTree(TreeOptions options);

  /// What there is to divide, by resource; one that is not named is not there, and mins of it are not scaled.
  void set_total(const Amounts& total);
  const Amounts& total() const { return total_; }
  /// What of a resource is left for quotas: less what is used in the built-in ones.
  std::int64_t free_total(ResourceId resource) const;

  /// Added or changed. Of the root nothing is changed. A quota whose parents do not lead to the root (one is
  /// missing, or they go round in a circle) has its min, or what it asks for of that, until they do.
  QuotaId put(const QuotaSpec& spec);
  /// Gone: what was under it waits for it to come back. It has no pods any more.
  void remove(QuotaId quota);
  /// kNoQuota: there is none.
  QuotaId find(std::string_view name) const;

  static constexpr QuotaId kRoot = 0;
  bool is_built_in(QuotaId quota) const { return quota == system_ || quota == default_; }
  const std::string& name(QuotaId quota) const { return quotas_[quota].name; }
  /// kNoQuota: it is the root, or its parent is not there.
  QuotaId parent(QuotaId quota) const;
  const std::string& parent_name(QuotaId quota) const { return quotas_[quota].parent_name; }
  bool lends(QuotaId quota) const { return quotas_[quota].lends; }
  bool is_parent(QuotaId quota) const { return quotas_[quota].is_parent; }
  /// That are there, the root and the built-in ones among them.
  std::size_t size() const { return ids_.size() - missing_; }
  template <class Visit>
  void each(Visit&& visit) const {
    for (QuotaId id = 0; id < quotas_.size(); ++id)
      if (quotas_[id].exists) visit(id);
  }

  /// A pod is counted in the quota from now on: what it asks for, and once it is assigned what it uses.
  PodId add_pod(QuotaId quota, Amounts requests, bool preemptible, bool assigned);
  void change_pod(PodId pod, Amounts requests, bool preemptible);
  void assign_pod(PodId pod, bool assigned);
  void move_pod(PodId pod, QuotaId quota);
  void remove_pod(PodId pod);
  QuotaId quota_of(PodId pod) const { return pods_[pod].quota; }
  bool is_assigned(PodId pod) const { return pods_[pod].assigned; }
  bool is_preemptible(PodId pod) const { return pods_[pod].preemptible; }
  const Amounts& requests(PodId pod) const { return pods_[pod].requests; }
  std::span<const PodId> pods(QuotaId quota) const { return quotas_[quota].pods; }

  /// Resources that any quota has named are below it.
  ResourceId resources() const { return resources_; }
  /// Zeros for a resource that nobody has named.
  const QuotaFigures& figures(QuotaId quota, ResourceId resource) const;
  /// What the quota may use now; absent: its parent does not divide the resource. Of the root what is left
  /// for quotas, of the built-in ones their max, which they take before all others.
  std::optional<std::int64_t> runtime(QuotaId quota, ResourceId resource);
  /// The min that counts now.
  std::int64_t scaled_min(QuotaId quota, ResourceId resource);
  /// How often levels were divided anew, for one resource each; for tests and benchmarks.
  std::uint64_t divisions() const { return divisions_; }

 private:
  struct Column {
    Shares shares;
    std::int64_t total = 0;
    bool scaled = false;
    bool stale = true;
  };
  /// The quotas right under one.
  struct Level {
    std::vector<QuotaId> children;     // by slot
    std::vector<std::uint8_t> lends;   // by slot
    std::vector<std::uint32_t> ranks;  // by slot: their order by name
    bool ranked = true;
    std::vector<std::optional<Column>> columns;  // by resource; absent: it is not divided
  };
  struct Quota {
    std::string name, parent_name;
    bool exists = false;  // else it is named as a parent, and that is all
    bool is_parent = false, lends = true;
    QuotaId parent = kNoQuota;  // under which it hangs, there or not; kNoQuota: a circle was cut here
    std::uint32_t slot = 0;     // in the parent's level
    std::vector<QuotaFigures> figures;
    Level level;
    std::vector<PodId> pods;
  };
  struct Pod {
    QuotaId quota = kNoQuota;
    std::uint32_t place = 0;  // among the pods of its quota
    bool preemptible = true, assigned = false;
    Amounts requests;
  };

  QuotaId make(std::string_view name);
  void drop_if_idle(QuotaId quota);
  void attach(QuotaId quota);
  void detach(QuotaId quota);
  void attach_cut();
  bool leads_to(QuotaId from, QuotaId to) const;
  void carry_up(QuotaId quota, int sign);
  void set_terms(QuotaId quota, const QuotaSpec& spec);
  void set_keys(QuotaId quota, ResourceId resource);
  void count_anew(QuotaId quota, ResourceId resource);
  bool divides(QuotaId quota, ResourceId resource) const;
  void write_column(QuotaId quota, ResourceId resource);

  void count(const Pod& pod, int sign, bool request, bool used);
  void ask(QuotaId quota, ResourceId resource);
  void use(QuotaId quota, ResourceId resource, std::int64_t used, std::int64_t non_preemptible);
  void allocate(QuotaId quota, ResourceId resource);
  QuotaFigures& at(QuotaId quota, ResourceId resource);
  Column* column_of(QuotaId quota, ResourceId resource);
  void rank(Level& level);
  Column* divided(QuotaId quota, ResourceId resource);
  std::int64_t unshared(QuotaId quota, ResourceId resource) const;

  const TreeOptions options_;
  std::deque<Quota> quotas_;  // by id
  std::vector<QuotaId> unused_;
  std::unordered_map<std::string_view, QuotaId> ids_;  // keys are the names in quotas_
  std::size_t missing_ = 0;                            // of those the ones that do not exist
  std::vector<QuotaId> cut_;
  QuotaId system_ = kNoQuota, default_ = kNoQuota;
  std::vector<Pod> pods_;
  std::vector<PodId> unused_pods_;
  Amounts total_;
  std::vector<std::optional<std::int64_t>> totals_;  // by resource
  std::vector<std::uint32_t> named_;                 // by resource: how many maxes name it
  ResourceId resources_ = 0;
  std::uint64_t divisions_ = 0;
  std::vector<QuotaId> path_;  // of divided()
};

}  // namespace koord::scheduling::elastic_quota
