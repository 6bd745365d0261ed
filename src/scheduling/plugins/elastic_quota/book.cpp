// QuotaBook: see book.hpp.
#include "scheduling/plugins/elastic_quota/book.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::elastic_quota {

namespace {

std::int64_t amount_of(ResourceId resource, const api::Quantity& quantity) {
  return resource == kCpu ? quantity.milli_value() : quantity.value();
}

/// What is summed up over many pods, quotas or trees is cut at what nobody has, so that sums of what anybody
/// may write stay numbers: a pod's requests and a quota's min (1 PB, 10^12 CPUs), and what a tree has.
constexpr std::int64_t kMostOfOne = 1'000'000'000'000'000, kMostOfTree = 100 * kMostOfOne;

Amounts cut(Amounts amounts) {
  for (Amount& each : amounts) each.amount = std::clamp<std::int64_t>(each.amount, 0, kMostOfOne);
  return amounts;
}

}  // namespace

QuotaBook::QuotaBook(const PluginContext& context, const ElasticQuotaArgs& args)
    : clock_(context.clock),
      args_(args),
      multi_tree_(context.gate("MultiQuotaTree")),
      no_default_(context.gate("DisableDefaultQuota")),
      ignores_overhead_(context.gate("ElasticQuotaIgnorePodOverhead")),
      ignores_ended_(context.gate("ElasticQuotaIgnoreTerminatingPod")),
      ignores_ending_(context.gate("ElasticQuotaImmediateIgnoreTerminatingPod")),
      options_{.scale_min = args.enable_min_quota_scale.value_or(true),
               .guarantee_usage = context.gate("ElasticQuotaGuaranteeUsage")} {
  for (const std::string_view name : {"cpu", "memory"}) resource(name);
  trees_.emplace("", std::make_unique<QuotaTree>(options_));
  for (const auto name : {api::kSystemQuota, api::kDefaultQuota}) apply(std::string(name));
  context.observe(*this);
  context.objects.watch<api::ElasticQuota>().on_change(
      [this](const api::ElasticQuota* before, const api::ElasticQuota* now) { object_changed(before, now); });
}

// Resources

ResourceId QuotaBook::resource(std::string_view name) {
  const auto [found, made] = numbers_.try_emplace(std::string(name), static_cast<ResourceId>(names_.size()));
  if (made) {
    names_.emplace_back(name);
    new_resource_ = true;
  }
  return found->second;
}

Amounts QuotaBook::amounts(const api::ResourceList& list) {
  Amounts all;
  for (const auto& [name, quantity] : list) {
    const ResourceId number = resource(name.view());
    all.push_back({number, amount_of(number, quantity)});
  }
  return all;
}

api::ResourceList QuotaBook::resources(const api::Pod& pod) const {
  return api::pod_requests(pod, {.exclude_overhead = ignores_overhead_});
}

Amounts QuotaBook::requests(const api::Pod& pod) const {
  Amounts all;
  for (const auto& [name, quantity] : resources(pod))
    if (const auto found = numbers_.find(name.str()); found != numbers_.end())
      all.push_back({found->second, amount_of(found->second, quantity)});
  return cut(std::move(all));
}

api::Quantity QuotaBook::quantity(ResourceId resource, std::int64_t amount) const {
  if (resource == kCpu) return api::Quantity::from_milli(amount);
  return api::Quantity::from_int(
      amount, resource == kMemory ? api::Quantity::Format::binary_si : api::Quantity::Format::decimal_si);
}

// Quotas

void QuotaBook::object_changed(const api::ElasticQuota* before, const api::ElasticQuota* now) {
  const api::ObjectMeta& meta = (now != nullptr ? now : before)->metadata;
  // What is being deleted stays as it is until it is gone, and does not begin.
  if (now != nullptr && now->metadata.deletion_timestamp) return;
  const std::string ns = meta.namespace_.str();
  if (now == nullptr) {
    const auto named = objects_.find(meta.name);
    if (named == objects_.end() || named->second.erase(ns) == 0) return;
    if (named->second.empty()) objects_.erase(named);
  } else {
    Facts facts{.terms = api::quota_terms(*now), .min = now->spec.min, .max = now->spec.max, .total = {}};
    if (auto total =
            api::read_annotation<api::AnnotatedResources>(now->metadata.annotations, api::kQuotaTotal);
        total && *total)
      facts.total = std::move((*total)->resources);
    Facts& known = objects_[meta.name][ns];
    // Its status has changed.
    if (before != nullptr && known.terms == facts.terms && known.min == facts.min && known.max == facts.max &&
        known.total == facts.total)
      return;
    known = std::move(facts);
  }
  // Those above may lose what is used in it.
  const std::vector<std::string> path = path_of(meta.name);
  apply(meta.name);
  // One of this name in a namespace of this name is that namespace's.
  place_pods(meta.name, {ns});
  if (listener_ == nullptr) return;
  for (const std::string& above : path) listener_->quota_changed(above);
  listener_->quota_changed(meta.name);
  listener_->shares_changed();
}

/// The quotas above one that is there, as they are now.
std::vector<std::string> QuotaBook::path_of(const std::string& name) const {
  std::vector<std::string> path;
  const Place place = find(name);
  if (place.tree == nullptr) return path;
  for (QuotaId up = place.tree->parent(place.quota); up != kNoQuota; up = place.tree->parent(up))
    path.push_back(place.tree->name(up));
  return path;
}

/// After a change of the objects of this name. Of several the first namespace's counts.
void QuotaBook::apply(const std::string& name) {
  const bool built_in = name == api::kSystemQuota || name == api::kDefaultQuota;
  std::set<std::string> namespaces;  // whose pods may belong elsewhere now
  for (const auto& [ns, quotas] : namespace_quotas_)
    if (quotas.contains(name)) namespaces.insert(ns);
  for (const std::string& ns : namespaces) namespace_quotas_.find(ns)->second.erase(name);
  const auto objects = objects_.find(name);
  if (objects == objects_.end()) {
    if (built_in) {
      tree_of_[name] = "";
      put_built_in(name,
                   name == api::kSystemQuota ? args_.system_quota_group_max : args_.default_quota_group_max);
    } else {
      leave_tree(name);
    }
    place_pods(name, namespaces);
  } else {
    const Facts& facts = objects->second.begin()->second;
    for (const std::string& ns : facts.terms.namespaces) {
      namespace_quotas_[ns].insert(name);
      namespaces.insert(ns);
    }
    const std::string id = multi_tree_ && !built_in ? facts.terms.tree_id : std::string();
    if (const auto was = tree_of_.find(name); was != tree_of_.end() && was->second != id) leave_tree(name);
    put(name, facts);
    tree_of_[name] = id;
    place_pods(name, namespaces);
  }
  if (std::exchange(new_resource_, false))
    for (auto& [key, known] : pods_) count(known);
  set_totals();
}

/// Its pods go where they belong without it.
void QuotaBook::leave_tree(const std::string& name) {
  const auto was = tree_of_.find(name);
  if (was == tree_of_.end()) return;
  const std::string tree_id = was->second;
  tree_of_.erase(was);
  const auto tree = trees_.find(tree_id);
  const QuotaId quota = tree->second->find(name);
  std::unordered_set<Known*> here;
  for (auto& [key, known] : pods_)
    if (known.place == Place{tree->second.get(), quota}) here.insert(&known);
  place_again(here);
  tree->second->remove(quota);
  if (!tree_id.empty() && tree->second->size() == 1) trees_.erase(tree);
}

void QuotaBook::put(const std::string& name, const Facts& facts) {
  const std::string id = multi_tree_ ? facts.terms.tree_id : std::string();
  std::unique_ptr<QuotaTree>& tree = trees_[id];
  if (!tree) {
    TreeOptions options = options_;
    options.built_in = false;
    tree = std::make_unique<QuotaTree>(options);
  }
  tree->put({.name = name,
             .parent = facts.terms.parent,
             .is_parent = facts.terms.is_parent,
             .lends = facts.terms.lends,
             .min = cut(amounts(facts.min)),
             .max = amounts(facts.max),
             .weight = amounts(facts.terms.shared_weight)});
}

/// Until its object is there.
void QuotaBook::put_built_in(std::string_view name, const api::ResourceList& max) {
  default_tree().put(
      {.name = std::string(name), .parent = std::string(api::kRootQuota), .max = amounts(max)});
}

void QuotaBook::node_changed(Row, const api::Node* before, const api::Node* now) {
  if (before != nullptr && now != nullptr && before->status.allocatable == now->status.allocatable) return;
  const auto add = [&](const api::Node* node, int sign) {
    if (node == nullptr) return;
    for (const auto& [name, quantity] : node->status.allocatable)
      allocatable_[name.str()] += sign * (name == "cpu" ? quantity.milli_value() : quantity.value());
  };
  add(before, -1);
  add(now, 1);
  set_totals();
  if (listener_ != nullptr) listener_->shares_changed();
}

/// A tree of its own has what its root says, and the default tree has the rest of the nodes.
void QuotaBook::set_totals() {
  ++version_;
  std::map<ResourceId, std::int64_t> rest;
  for (const auto& [name, amount] : allocatable_)
    if (const auto number = numbers_.find(name); number != numbers_.end()) rest[number->second] = amount;
  std::set<std::string_view> said;
  if (multi_tree_)
    for (const auto& [name, id] : tree_of_) {
      if (id.empty()) continue;
      const Facts& facts = objects_.find(name)->second.begin()->second;
      if (!facts.terms.is_tree_root || !facts.total || !said.insert(id).second) continue;
      Amounts total;
      for (const auto& [resource, quantity] : *facts.total) {
        const auto number = numbers_.find(resource.str());
        if (number == numbers_.end()) continue;
        total.push_back(
            {number->second, std::clamp(amount_of(number->second, quantity), -kMostOfTree, kMostOfTree)});
        if (!facts.terms.ignores_default_tree) rest[number->second] -= total.back().amount;
      }
      trees_.find(id)->second->set_total(total);
    }
  for (const auto& [id, tree] : trees_)
    if (!id.empty() && !said.contains(id)) tree->set_total({});
  Amounts total;
  for (const auto& [resource, amount] : rest) total.push_back({resource, amount});
  default_tree().set_total(total);
}

// Pods

QuotaBook::Place QuotaBook::find(std::string_view name) const {
  const auto tree = tree_of_.find(name);
  if (tree == tree_of_.end()) return {};
  QuotaTree* const in = trees_.find(tree->second)->second.get();
  const QuotaId quota = in->find(name);
  return quota != kNoQuota ? Place{in, quota} : Place{};
}

/// Empty: none.
std::string_view QuotaBook::name_for(std::string_view label, std::string_view ns) const {
  if (!label.empty()) {
    if (tree_of_.contains(label)) return label;
    return no_default_ ? std::string_view() : api::kDefaultQuota;
  }
  if (no_default_) return {};
  if (const auto named = objects_.find(ns); named != objects_.end() && named->second.contains(named->first))
    return named->first;
  if (const auto listed = namespace_quotas_.find(ns);
      listed != namespace_quotas_.end() && !listed->second.empty())
    return *listed->second.begin();
  return api::kDefaultQuota;
}

QuotaBook::Place QuotaBook::place_of(const api::Pod& pod) const {
  const std::string_view name = name_for(api::quota_name(pod.metadata), pod.metadata.namespace_.view());
  return name.empty() ? Place{} : find(name);
}

QuotaBook::Place QuotaBook::counted_in(const api::Pod& pod) const {
  const auto known = pods_.find(pod_key(pod));
  return known != pods_.end() ? known->second.place : Place{};
}

std::pair<QuotaBook::Place, const Amounts*> QuotaBook::counts(
    const std::shared_ptr<const api::Pod>& pod) const {
  const auto found = pods_.find(pod_key(*pod));
  if (found == pods_.end() || found->second.pod != pod || found->second.place.tree == nullptr) return {};
  const Known& known = found->second;
  return {known.place, &known.place.tree->requests(known.id)};
}

std::vector<QuotaBook::Counted> QuotaBook::pods_of(Place place) const {
  std::vector<Counted> found;
  if (place.tree == nullptr) return found;
  for (const auto& [key, known] : pods_)
    if (known.place == place) found.push_back({known.pod, place.tree->is_assigned(known.id)});
  return found;
}

void QuotaBook::index(Known& known, bool there) {
  auto& pods = known.label.empty() ? unlabelled_ : labelled_;
  const std::string& key = known.label.empty() ? known.pod->metadata.namespace_.str() : known.label;
  if (there) {
    pods[key].insert(&known);
  } else if (const auto found = pods.find(key); found != pods.end()) {
    found->second.erase(&known);
    if (found->second.empty()) pods.erase(found);
  }
}

void QuotaBook::place_pods(std::string_view label, const std::set<std::string>& namespaces) {
  if (const auto named = labelled_.find(std::string(label)); named != labelled_.end())
    place_again(named->second);
  for (const std::string& ns : namespaces)
    if (const auto here = unlabelled_.find(ns); here != unlabelled_.end()) place_again(here->second);
}

void QuotaBook::place_again(const std::unordered_set<Known*>& pods) {
  for (Known* known : pods) move(*known, place_of(*known->pod));
}

void QuotaBook::told_less(Place place) const {
  if (listener_ == nullptr || place.tree == nullptr) return;
  for (QuotaId up = place.quota; up != kNoQuota; up = place.tree->parent(up))
    listener_->quota_changed(place.tree->name(up));
}

void QuotaBook::move(Known& known, Place to) {
  const Place from = known.place;
  if (from == to) return;
  const bool assigned = known.reserved || !known.pod->spec.node_name.empty();
  if (from.tree != nullptr && from.tree == to.tree) {
    from.tree->move_pod(known.id, to.quota);
  } else {
    if (from.tree != nullptr) from.tree->remove_pod(known.id);
    if (to.tree != nullptr)
      known.id = to.tree->add_pod(to.quota, requests(*known.pod), api::is_preemptible(known.pod->metadata),
                                  assigned);
  }
  known.place = to;
  ++version_;
  if (assigned) told_less(from);
  if (listener_ != nullptr) listener_->shares_changed();
}

/// What it asks for and whether it is on a node, as its object says now.
void QuotaBook::count(Known& known) {
  QuotaTree* const tree = known.place.tree;
  if (tree == nullptr) return;
  Amounts asked = requests(*known.pod);
  const bool preemptible = api::is_preemptible(known.pod->metadata);
  if (tree->requests(known.id) != asked || tree->is_preemptible(known.id) != preemptible) {
    ++version_;
    tree->change_pod(known.id, std::move(asked), preemptible);
    if (tree->is_assigned(known.id)) told_less(known.place);
    if (listener_ != nullptr) listener_->shares_changed();
  }
  assign(known);
}

/// Whether it is on a node, or on its way there.
void QuotaBook::assign(Known& known) {
  QuotaTree* const tree = known.place.tree;
  if (tree == nullptr) return;
  const bool assigned = known.reserved || !known.pod->spec.node_name.empty();
  if (tree->is_assigned(known.id) == assigned) return;
  ++version_;
  tree->assign_pod(known.id, assigned);
  if (!assigned) told_less(known.place);
  if (listener_ != nullptr && (tree->is_built_in(known.place.quota) || options_.guarantee_usage))
    listener_->shares_changed();
}

/// It is being deleted, and the gates say that it does not count.
bool QuotaBook::is_ignored(const api::Pod& pod) const {
  if (!pod.metadata.deletion_timestamp) return false;
  if (ignores_ending_ || !ignores_ended_) return ignores_ending_;
  const auto grace = std::chrono::seconds(pod.metadata.deletion_grace_period_seconds.value_or(0));
  return clock_.now() > pod.metadata.deletion_timestamp->at + grace;
}

void QuotaBook::pod_seen(const std::shared_ptr<const api::Pod>& pod) {
  const std::string key = pod_key(*pod);
  auto found = pods_.find(key);
  if (found != pods_.end() && found->second.pod->metadata.uid != pod->metadata.uid) {
    const std::shared_ptr<const api::Pod> other = found->second.pod;
    pod_left(*other);
    found = pods_.end();
  }
  if (is_ignored(*pod)) return pod_left(*pod);
  std::string label(api::quota_name(pod->metadata));
  if (found == pods_.end()) {
    Known& known = pods_[key];
    known.pod = pod;
    known.label = std::move(label);
    index(known, true);
    return move(known, place_of(*pod));
  }
  Known& known = found->second;
  if (known.label != label) {
    index(known, false);
    known.label = std::move(label);
    known.pod = pod;
    index(known, true);
    move(known, place_of(*pod));
  }
  known.pod = pod;
  count(known);
}

void QuotaBook::pod_left(const api::Pod& pod) {
  const auto found = pods_.find(pod_key(pod));
  if (found == pods_.end() || found->second.pod->metadata.uid != pod.metadata.uid) return;
  index(found->second, false);
  move(found->second, {});
  pods_.erase(found);
}

/// nullptr: this very pod is not counted.
QuotaBook::Known* QuotaBook::known_of(const api::Pod& pod) {
  const auto found = pods_.find(pod_key(pod));
  const bool is = found != pods_.end() && found->second.pod->metadata.uid == pod.metadata.uid;
  return is ? &found->second : nullptr;
}

void QuotaBook::reserve(const api::Pod& pod) {
  Known* const known = known_of(pod);
  if (known == nullptr) return;
  known->reserved = true;
  assign(*known);
}

void QuotaBook::unreserve(const api::Pod& pod) {
  Known* const known = known_of(pod);
  if (known == nullptr) return;
  known->reserved = false;
  assign(*known);
}

void QuotaBook::set_aside(const api::Pod& pod) {
  if (Known* const known = known_of(pod); known != nullptr && known->place.tree != nullptr)
    known->place.tree->assign_pod(known->id, false);
}

void QuotaBook::bring_back(const api::Pod& pod) {
  Known* const known = known_of(pod);
  if (known != nullptr && known->place.tree != nullptr)
    known->place.tree->assign_pod(known->id, known->reserved || !known->pod->spec.node_name.empty());
}

}  // namespace koord::scheduling::elastic_quota
