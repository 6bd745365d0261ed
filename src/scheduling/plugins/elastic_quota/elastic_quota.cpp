// ElasticQuota: a pod is placed only if its quota has room for it, what quotas do not use goes to others, and
// within a quota pods of a higher priority may take the room of others.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/quota.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "scheduling/plugins/elastic_quota/book.hpp"
#include "scheduling/plugins/elastic_quota/check.hpp"
#include "scheduling/plugins/elastic_quota/control/controller.hpp"
#include "scheduling/plugins/elastic_quota/describe.hpp"
#include "scheduling/plugins/elastic_quota/explain.hpp"
#include "scheduling/plugins/elastic_quota/kept_room.hpp"
#include "scheduling/plugins/elastic_quota/news.hpp"
#include "scheduling/plugins/elastic_quota/revoke.hpp"
#include "scheduling/plugins/elastic_quota/waiters.hpp"
#include "scheduling/preemption/preemptor.hpp"

namespace koord::scheduling {

namespace elastic_quota {
namespace {

using Place = QuotaBook::Place;
using Quantities = std::vector<std::pair<std::string, api::Quantity>>;

/// "cpu:1,memory:2Gi", by name.
std::string listed(Quantities all) {
  if (all.empty()) return "<empty>";
  std::ranges::sort(all, {}, &Quantities::value_type::first);
  std::string text;
  for (const auto& [name, quantity] : all)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, quantity.to_string());
  return text;
}

/// For as long as a pod that nobody has created yet is asked about: its quota hears of it.
class AsIfCreated {
 public:
  AsIfCreated(Place place, const Amounts& requests, bool preemptible)
      : tree_(place.tree), pod_(tree_->add_pod(place.quota, requests, preemptible, false)) {}
  AsIfCreated(const AsIfCreated&) = delete;
  AsIfCreated& operator=(const AsIfCreated&) = delete;
  ~AsIfCreated() { tree_->remove_pod(pod_); }

 private:
  QuotaTree* tree_;
  PodId pod_;
};

class ElasticQuota final : public Plugin,
                           public AdmitPlugin,
                           public EventPlugin,
                           public TimedPlugin,
                           public EveryPodPlugin,
                           public PostFilterPlugin,
                           public ReservePlugin,
                           public SyncedPlugin,
                           public ControllerPlugin,
                           public ServicePlugin,
                           public AdmitExplainPlugin,
                           public preemption::RoomBeside {
 public:
  ElasticQuota(const ElasticQuotaArgs& args, const PluginContext& context)
      : args_(args),
        rules_{.by_runtime = args.enable_runtime_quota.value_or(true),
               .parents = args.enable_check_parent_quota.value_or(false)},
        spares_default_(args.disable_default_quota_preemption.value_or(true)),
        book_(context.shared.get<QuotaBook>(context, args)),
        tells_(!book_.has_listener()),
        waiters_(context.shared.get<QuotaWaiters>(context, book_, rules_.by_runtime)),
        kept_room_(context.shared.get<KeptRoom>(book_, context.nominator)),
        full_(context.verdicts.intern({context.index, false, {"Insufficient quotas"}})),
        preemptor_(context, kAllNodes, *this) {}

  /// Classes are of what nodes are asked about; of quotas they are not. Which limits of its quota hold, and
  /// so whose going would help, is all that pods of a class and a quota may differ in.
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(api::is_preemptible(pod.pod->metadata));
    return true;
  }

  Status admit(const PodInfo& pod) override {
    const bool preemptible = api::is_preemptible(pod.pod->metadata);
    if (const auto [counted, requests] = book_.counts(pod.pod); requests != nullptr)
      return judge(pod, counted, *requests, preemptible);
    const Place place = book_.place_of(*pod.pod);
    if (place.tree == nullptr) return {};
    const Amounts requests = book_.requests(*pod.pod);
    std::optional<AsIfCreated> created;
    if (book_.counted_in(*pod.pod) != place && !is_placeholder(*pod.pod))
      created.emplace(place, requests, preemptible);
    return judge(pod, place, requests, preemptible);
  }

  Admission explain_admission(const PodInfo& pod) override {
    const Place place = book_.place_of(*pod.pod);
    if (place.tree == nullptr || is_placeholder(*pod.pod)) return {};
    const Amounts requests = book_.requests(*pod.pod);
    const bool preemptible = api::is_preemptible(pod.pod->metadata);
    const AsIfCreated created(place, requests, preemptible);
    auto why = refusal(*place.tree, place.quota, requests, preemptible, rules_);
    if (!why) why = refusal(*place.tree, place.quota, requests, preemptible, rules_, less_kept(pod, place));
    return {explain_quota(book_, place, why, rules_), why.has_value()};
  }

  EventMask events() const override {
    return events_of(EventKind::plugin_told, EventKind::own_pod_label, EventKind::own_pod_scale_down);
  }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return true; }

  std::optional<WallTime> next_time() const override {
    std::optional<WallTime> soonest = waiters_.next_time();
    const auto also = [&](std::optional<WallTime> at) {
      if (at && (!soonest || *at < *soonest)) soonest = at;
    };
    also(kept_room_.next_time());
    if (news_) also(news_->next_time());
    if (over_use_) also(over_use_->next_time());
    return soonest;
  }
  void time_passed(WallTime now, const std::function<void(const ClusterEvent&)>& happened) override {
    const auto is_due = [&](std::optional<WallTime> at) { return at && *at <= now; };
    if (is_due(waiters_.next_time())) waiters_.time_passed(now, happened);
    if (is_due(kept_room_.next_time()))
      for (const std::string& quota : kept_room_.time_passed(now)) waiters_.quota_changed(quota);
    if (news_ && is_due(news_->next_time())) news_->time_passed(now);
    if (over_use_ && is_due(over_use_->next_time())) over_use_->time_passed(now);
  }

  std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers,
                                                    kube::Client& client) override {
    auto board = std::make_shared<QuotaBoard>();
    news_.emplace(book_, board);
    if (rules_.by_runtime && args_.monitor_all_quotas.value_or(false))
      over_use_.emplace(
          book_,
          OverUse::Options{.delay = args_.delay_evict_time->value,
                           .every = std::max<nanoseconds>(args_.revoke_pod_interval->value, kSoonest)},
          board);
    return elastic_quota::make_controller(
        {args_.quota_group_namespace, args_.default_quota_group_max, args_.system_quota_group_max},
        std::move(board), informers, client);
  }
  std::vector<std::string_view> service_paths() const override { return {"/quotas/:name", "/quotas"}; }
  std::optional<ServiceAnswer> serve(const ServiceRequest& request) const override {
    return serve_quotas(book_, request);
  }
  void all_synced() override {
    if (news_) news_->begin();
  }

  // One of the instances of all profiles tells the book.
  void pod_seen(const std::shared_ptr<const api::Pod>& pod) override {
    if (tells_) book_.pod_seen(pod);
  }
  void pod_left(const api::Pod& pod) override {
    if (tells_) book_.pod_left(pod);
  }

  Status reserve(PodAttempt& attempt) override {
    book_.reserve(*attempt.pod.pod);
    return {};
  }
  void unreserve(PodAttempt& attempt) override { book_.unreserve(*attempt.pod.pod); }

  /// Victims are of the same quota. Where the quota itself refuses the pod nobody else's victims would help.
  PostFilterResult post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) override {
    PostFilterResult result = preemptor_.make_room(attempt, diagnosis);
    if (result.status.code != StatusCode::unschedulable) return result;
    const Place place = book_.place_of(*attempt.pod.pod);
    if (place.tree != nullptr && refused(place, attempt.pod, {}))
      result.status.code = StatusCode::unresolvable;
    return result;
  }
  void preempted(const api::Pod& pod, bool all) override { preemptor_.preempted(pod, all); }

  // RoomBeside
  bool spares(const PodInfo& victim, const PodInfo& preemptor) const override {
    if (!api::is_preemptible(victim.pod->metadata) || is_placeholder(*victim.pod)) return true;
    const Place theirs = book_.place_of(*victim.pod);
    if (theirs != book_.place_of(*preemptor.pod)) return true;
    return spares_default_ && theirs.tree != nullptr && theirs.tree->name(theirs.quota) == api::kDefaultQuota;
  }
  std::unique_ptr<preemption::Vacancy> beside(const PodInfo& preemptor) const override {
    return std::make_unique<Without>(*this, preemptor);
  }
  preemption::Preemptor& preemptor() override { return preemptor_; }
  Symbol account(const PodInfo& pod) const override {
    const Place place = book_.place_of(*pod.pod);
    return place.tree != nullptr ? Symbol(place.tree->name(place.quota)) : Symbol();
  }
  void set_aside(const PodInfo& pod) override { book_.set_aside(*pod.pod); }
  void bring_back(const PodInfo& pod) override { book_.bring_back(*pod.pod); }
  void keep_for(const std::string& group, std::span<const std::shared_ptr<const api::Pod>> pods) override {
    kept_room_.keep(group, pods);
  }
  /// As of a pod that asks for nothing of what is used.
  bool holds(const PodInfo& pod) const override {
    const Place place = book_.place_of(*pod.pod);
    if (place.tree == nullptr) return true;
    Amounts nothing;
    for (ResourceId r = 0; r < place.tree->resources(); ++r) nothing.push_back({r, 0});
    return !refusal(*place.tree, place.quota, nothing, true, rules_);
  }

 private:
  static constexpr preemption::Sample kAllNodes{100, 0};
  /// How often over-use is looked at, at most.
  static constexpr nanoseconds kSoonest = std::chrono::milliseconds(100);

  /// The quota as it is when some of its pods are gone.
  class Without final : public preemption::Vacancy {
   public:
    Without(const ElasticQuota& plugin, const PodInfo& pod)
        : plugin_(plugin), pod_(pod), place_(plugin.book_.place_of(*pod.pod)) {}
    void remove(const PodInfo& pod) override { change(pod, 1); }
    void add(const PodInfo& pod) override { change(pod, -1); }
    VerdictId judge() override {
      return place_.tree != nullptr && plugin_.refused(place_, pod_, freed_) ? plugin_.full_ : kPass;
    }

   private:
    void change(const PodInfo& pod, int sign) {
      if (place_.tree == nullptr || plugin_.book_.counted_in(*pod.pod) != place_) return;
      for (const Amount& amount : plugin_.book_.requests(*pod.pod))
        elastic_quota::add(freed_, {amount.resource, sign * amount.amount});
    }

    const ElasticQuota& plugin_;
    const PodInfo& pod_;
    const Place place_;
    Amounts freed_;
  };

  /// Of a pod that is counted there.
  Status judge(const PodInfo& pod, Place place, const Amounts& requests, bool preemptible) {
    auto why = refusal(*place.tree, place.quota, requests, preemptible, rules_);
    Amounts freed;
    if (!why) {
      freed = less_kept(pod, place);
      if (!freed.empty()) why = refusal(*place.tree, place.quota, requests, preemptible, rules_, freed);
    }
    if (why) {
      waiters_.refused({place.tree, why->quota});
      std::string told = message(*pod.pod, place, *why);
      if (!freed.empty()) told += fmt::format(", kept for pods whose victims are to go: {}", kept(freed));
      return {StatusCode::unschedulable, std::move(told), Symbol(place.tree->name(why->quota))};
    }
    if (rules_.parents) return has_parents(place);
    return {};
  }

  /// What of the quota is kept from the pod, as if so much less than nothing were free of it.
  Amounts less_kept(const PodInfo& pod, Place place) const {
    Amounts less = kept_room_.kept_from(pod, place);
    for (Amount& amount : less) amount.amount = -amount.amount;
    return less;
  }
  std::string kept(const Amounts& less) const {
    Quantities all;
    for (const Amount& amount : less)
      all.emplace_back(book_.resource_name(amount.resource), book_.quantity(amount.resource, -amount.amount));
    return listed(std::move(all));
  }

  bool refused(Place place, const PodInfo& pod, Amounts freed) const {
    for (const Amount& amount : less_kept(pod, place)) add(freed, amount);
    return refusal(*place.tree, place.quota, book_.requests(*pod.pod), api::is_preemptible(pod.pod->metadata),
                   rules_, freed)
        .has_value();
  }

  /// A quota above that is not there is nobody's decision.
  Status has_parents(Place place) const {
    std::string path = place.tree->name(place.quota);
    for (QuotaId up = place.quota; up != QuotaTree::kRoot;) {
      const std::string& above = place.tree->parent_name(up);
      path = fmt::format("{} {}", above, path);
      up = place.tree->parent(up);
      if (up == kNoQuota)
        return {StatusCode::error,
                fmt::format("Could not find the elasticQuota {}, quotaNameTopo: [{}]", above, path)};
    }
    return {};
  }

  /// In Koordinator's words.
  std::string message(const api::Pod& pod, Place place, const Refusal& why) const {
    const QuotaTree& tree = *place.tree;
    Quantities requests, used, limit;
    std::vector<std::string> exceeded;
    for (const auto& [name, quantity] : api::pod_requests(pod))
      if (counts(tree, place.quota, name.view())) requests.emplace_back(name.str(), quantity);
    for (ResourceId r = 0; r < tree.resources(); ++r) {
      const QuotaFigures& figures = tree.figures(why.quota, r);
      const std::string& name = book_.resource_name(r);
      const bool of_min = why.by == Refusal::By::non_preemptible;
      if (of_min ? figures.kept_taken : figures.taken)
        used.emplace_back(name, book_.quantity(r, of_min ? figures.non_preemptible_used : figures.used));
      const std::optional<std::int64_t> most =
          !of_min                              ? use_limit(*place.tree, why.quota, r, rules_.by_runtime)
          : figures.min != QuotaFigures::kNone ? std::optional(figures.min)
                                               : std::nullopt;
      if (most) limit.emplace_back(name, book_.quantity(r, *most));
    }
    exceeded.reserve(why.exceeded.size());
    for (const ResourceId r : why.exceeded) exceeded.push_back(book_.resource_name(r));
    std::ranges::sort(exceeded);
    const std::string most = listed(std::move(limit)), taken = listed(std::move(used)),
                      asked = listed(std::move(requests));
    const std::string dimensions = fmt::format("{}", fmt::join(exceeded, " "));
    switch (why.by) {
      case Refusal::By::quota:
        return fmt::format(
            "Insufficient quotas, quotaName: {}, runtime: {}, used: {}, pod's request: {}, exceedDimensions: "
            "[{}]",
            tree.name(why.quota), most, taken, asked, dimensions);
      case Refusal::By::non_preemptible:
        return fmt::format(
            "Insufficient non-preemptible quotas, quotaName: {}, min: {}, nonPreemptibleUsed: {}, pod's "
            "request: "
            "{}, exceedDimensions: [{}]",
            tree.name(why.quota), most, taken, asked, dimensions);
      case Refusal::By::parent: break;
    }
    std::string path = tree.name(place.quota);
    for (QuotaId up = place.quota; up != why.quota;) {
      up = tree.parent(up);
      path = fmt::format("{} {}", tree.name(up), path);
    }
    return fmt::format(
        "Insufficient quotas, quotaNameTopo: [{}], runtime: {}, used: {}, pod's request: {}, "
        "exceedDimensions: "
        "[{}]",
        path, most, taken, asked, dimensions);
  }

  bool counts(const QuotaTree& tree, QuotaId quota, std::string_view resource) const {
    for (ResourceId r = 0; r < tree.resources(); ++r)
      if (book_.resource_name(r) == resource) return tree.figures(quota, r).in_max();
    return false;
  }

  const ElasticQuotaArgs args_;
  const CheckRules rules_;
  const bool spares_default_;
  QuotaBook& book_;
  const bool tells_;
  QuotaWaiters& waiters_;
  KeptRoom& kept_room_;
  const VerdictId full_;
  preemption::Preemptor preemptor_;
  std::optional<QuotaNews> news_;  // where a controller wants them
  std::optional<OverUse> over_use_;
};

}  // namespace
}  // namespace elastic_quota

extern const PluginEntry kElasticQuota{
    .name = "ElasticQuota",
    .args = &args_type<elastic_quota::ElasticQuotaArgs>,
    .make = &make_with<elastic_quota::ElasticQuota, elastic_quota::ElasticQuotaArgs>};

}  // namespace koord::scheduling
