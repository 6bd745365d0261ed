// QuotaCatalog: the ElasticQuotas of the cluster as the rules of admission look them up, and what was
// admitted a moment ago and is not seen yet.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/koordinator/quota.hpp"
#include "koord/base/clock.hpp"
#include "koord/kube/informer.hpp"

namespace koord::manager {

/// One version of a quota.
struct QuotaVersion {
  std::shared_ptr<const api::ElasticQuota> object;
  api::QuotaTerms terms;

  explicit QuotaVersion(std::shared_ptr<const api::ElasticQuota> from)
      : object(std::move(from)), terms(api::quota_terms(*object)) {}
  const std::string& name() const { return object->metadata.name; }
  const api::ResourceList& min() const { return object->spec.min; }
  const api::ResourceList& max() const { return object->spec.max; }
};

/// Quotas are found by their names alone, whatever namespace they lie in: where two have one name the older
/// one is meant, then that of the first namespace. Belongs to the event loop's thread.
///
/// What was admitted is remembered until the cluster shows it, so that two writes at once cannot both take
/// what is there for one: it holds others back, and never lets anything through. It is forgotten after
/// kRemembered, since it may have been refused elsewhere.
class QuotaCatalog {
 public:
  using Version = std::shared_ptr<const QuotaVersion>;
  static constexpr std::chrono::seconds kRemembered{5};
  /// Writes that are remembered at a time.
  static constexpr std::size_t kMaxRecent = 4096;

  explicit QuotaCatalog(const Clock& clock) : clock_(clock) {}
  /// Follows an informer from now on.
  void follow(kube::Informer<api::ElasticQuota> quotas);
  /// Takes what the informer has told since; called before look-ups.
  void refresh();

  void set(std::shared_ptr<const api::ElasticQuota> quota);
  void remove(std::string_view ns, std::string_view name);

  Version find(std::string_view name) const;
  Version find(std::string_view ns, std::string_view name) const;
  std::size_t count(std::string_view name) const;
  std::size_t size() const { return versions_.size(); }
  void for_each(const std::function<void(const QuotaVersion&)>& visit) const;
  /// Those whose parent has that name, by name; of one name that which find() returns.
  std::vector<Version> children(std::string_view parent) const;
  /// What the children are sure of, added up.
  api::ResourceList min_of_children(std::string_view parent) const;
  /// Whose pods that namespace's are, by the quotas' annotation; of several the first by name.
  Version of_namespace(std::string_view ns) const;

  /// A write that was admitted and will be seen soon. False: there are too many already.
  bool remember(Version admitted);
  bool remember_removed(Version removed);
  bool has_recent() const { return !recent_.empty(); }
  /// What is remembered of a quota's name, and of a parent's children.
  std::vector<Version> recent(std::string_view name) const;
  std::vector<Version> recent_children(std::string_view parent) const;
  bool recently_removed(std::string_view name) const;
  Version recent_of_namespace(std::string_view ns, std::string_view except) const;

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name
  struct Recent {
    Version version;
    bool removed = false;
    MonoTime until{};
  };
  struct Family {
    std::map<std::string, std::set<std::string>, std::less<>> members;  // namespaces of a child, by its name
    api::ResourceList min;
  };

  static Key key_of(const api::ElasticQuota& quota);
  void link(const Version& version);
  void unlink(const Version& version);
  bool add_recent(Recent recent);
  /// Whether the cluster shows what was admitted, or something later.
  bool shows(const Recent& recent) const;

  const Clock& clock_;
  std::map<Key, Version, std::less<>> versions_;
  std::map<std::string, std::set<std::string>, std::less<>> namespaces_of_;  // by the quota's name
  std::map<std::string, Family, std::less<>> families_;                      // by the parent's name
  /// Name and namespace of quotas, by whose pods they count.
  std::map<std::string, std::set<std::pair<std::string, std::string>>, std::less<>> bound_;
  std::map<Key, Recent, std::less<>> recent_;
  // Last, so that it is detached before what it feeds goes.
  kube::DeliveryQueue queue_;
};

}  // namespace koord::manager
