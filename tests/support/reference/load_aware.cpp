// Koordinator's LoadAwareScheduling, for the scheduler's oracle: see load_aware.hpp.
#include "support/reference/load_aware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "support/reference/matching.hpp"

namespace koord::reference {

// What annotations say.
struct SaidAggregation {
  api::FlatMap<std::int64_t> usage_thresholds;
  std::string usage_aggregation_type;
  std::optional<api::Duration> usage_aggregated_duration;
  KOORD_STRUCT(SaidAggregation);
};
struct SaidThresholds {
  api::FlatMap<std::int64_t> usage_thresholds, prod_usage_thresholds;
  api::Box<SaidAggregation> aggregated_usage;
  KOORD_STRUCT(SaidThresholds);
};
struct SaidFactors {
  api::FlatMap<std::int64_t> all;
  KOORD_STRUCT(SaidFactors);
};
struct SaidAmounts {
  api::ResourceList all;
  KOORD_STRUCT(SaidAmounts);
};
KOORD_SCHEMA(SaidAggregation, ROW(usage_thresholds), ROW(usage_aggregation_type),
             ROW(usage_aggregated_duration));
KOORD_SCHEMA(SaidThresholds, ROW(usage_thresholds), ROW(prod_usage_thresholds), ROW(aggregated_usage));
KOORD_SCHEMA(SaidFactors, ROW(all));
KOORD_SCHEMA(SaidAmounts, ROW(all));

namespace {

using Numbers = LoadArgs::Numbers;

/// What a pod of the class asks for in place of a resource.
std::string named(api::KoordPriority of, const std::string& resource) {
  const bool lent = resource == "cpu" || resource == "memory";
  switch (of) {
    case api::KoordPriority::batch: return lent ? fmt::format("kubernetes.io/batch-{}", resource) : "";
    case api::KoordPriority::mid: return lent ? fmt::format("kubernetes.io/mid-{}", resource) : "";
    case api::KoordPriority::free: return "";
    default: return resource;
  }
}

api::KoordPriority class_of(const api::Pod& pod) {
  return api::with_default(api::koord_priority(pod),
                           api::with_default(api::koord_qos(pod), api::kube_qos(pod)));
}

std::int64_t amount(const api::ResourceList& list, const std::string& name) {
  const api::Quantity* q = list.find(name);
  return q == nullptr ? 0 : name == "cpu" ? q->milli_value() : q->value();
}

/// What the arguments name, and what is always looked at. Annotations may name others: nobody looks at them.
std::set<std::string> resources_of(const LoadArgs& args) {
  std::set<std::string> names{"cpu", "memory"};
  for (const Numbers* some : {&args.thresholds, &args.prod_thresholds, &args.weights, &args.factors})
    for (const auto& [name, number] : *some) names.insert(name);
  if (args.aggregated)
    for (const auto& [name, number] : args.aggregated->thresholds) names.insert(name);
  return names;
}

Numbers numbers(const api::FlatMap<std::int64_t>& said) {
  Numbers all;
  for (const auto& [name, number] : said) all[name.str()] = number;
  return all;
}
/// Nothing where there is none; the annotation's object as it is, or as the member `all` of one.
template <class T>
T annotation(const api::ObjectMeta& meta, const char* name, bool as_member = false) {
  const std::string_view text = api::value_or(meta.annotations, name);
  if (text.empty()) return {};
  return *api::decode<T>(as_member ? fmt::format(R"({{"all":{}}})", text) : std::string(text));
}

Numbers estimate(const LoadArgs& args, const api::Pod& pod) {
  Numbers factors = args.factors;
  if (args.customizable) {
    const Numbers own =
        numbers(annotation<SaidFactors>(pod.metadata,
                                        "scheduling.koordinator.sh/load-estimated-scaling-factors", true)
                    .all);
    for (const auto& [name, factor] : own) factors[name] = factor;
  }
  const api::ResourceList requests = api::pod_requests(pod, {.use_status = false}),
                          limits = api::pod_limits(pod, {.use_status = false});
  Numbers all;
  for (const auto& [resource, factor] : factors) {
    const std::string name = named(class_of(pod), resource);
    const std::int64_t limit = amount(limits, name), most = std::max(amount(requests, name), limit);
    std::int64_t& used = all[resource];
    if (most != 0) {
      used = static_cast<std::int64_t>(
          std::round(static_cast<double>(most) * static_cast<double>(factor) / 100));
      if (limit > 0) used = std::min(used, limit);
    } else if (name == "cpu" || name == "kubernetes.io/batch-cpu") {
      used = 250;
    } else if (name == "memory" || name == "kubernetes.io/batch-memory") {
      used = 200 << 20;
    }
  }
  return all;
}

std::optional<WallTime> since(const api::Pod& pod, const char* condition) {
  for (const api::PodCondition& c : pod.status.conditions)
    if (c.type == condition && c.status == "True") return c.last_transition_time.wall();
  return std::nullopt;
}

struct Thresholds {
  Numbers usage, prod;
  std::optional<LoadAggregation> aggregated;
};
Thresholds thresholds_of(const LoadArgs& args, const api::Node& node) {
  Thresholds t{args.thresholds, args.prod_thresholds, args.aggregated};
  const auto said = annotation<SaidThresholds>(node.metadata, "scheduling.koordinator.sh/usage-thresholds");
  const std::set<std::string> known = resources_of(args);
  // One that names none that is known says all the same that there are no thresholds.
  const auto replace = [&](Numbers& by, const api::FlatMap<std::int64_t>& own) {
    if (own.empty()) return false;
    by = numbers(own);
    std::erase_if(by, [&](const auto& each) { return !known.contains(each.first); });
    return true;
  };
  replace(t.usage, said.usage_thresholds);
  replace(t.prod, said.prod_usage_thresholds);
  if (!said.aggregated_usage) return t;
  const SaidAggregation& aggregated = *said.aggregated_usage;
  LoadAggregation own{{},
                      aggregated.usage_aggregation_type,
                      aggregated.usage_aggregated_duration.value_or(api::Duration()).value};
  if (replace(own.thresholds, aggregated.usage_thresholds) && !own.type.empty()) t.aggregated = own;
  return t;
}

bool empty(const Numbers& all) {
  return std::all_of(all.begin(), all.end(), [](const auto& each) { return each.second == 0; });
}

/// What a node uses, resource by resource, as far as it is asked.
class Load {
 public:
  Load(const Cluster& cluster, const LoadArgs& args, const api::Node& node)
      : cluster_(cluster), args_(args), node_(node) {
    const auto at = cluster.node_metrics.find(node.metadata.name);
    if (at != cluster.node_metrics.end()) metric_ = at->second.get();
  }
  bool known() const { return metric_ != nullptr; }
  bool says_something() const { return known() && metric_->status.node_metric; }
  bool expired() const {
    const auto& time = metric_->status.update_time;
    return !time || cluster_.now - time->wall() >= args_.expiration;
  }
  std::int64_t there(const std::string& resource) const {
    const api::ResourceList raw =
        annotation<SaidAmounts>(node_.metadata, "node.koordinator.sh/raw-allocatable", true).all;
    if (raw.contains(resource)) return amount(raw, resource);
    return amount(node_.status.allocatable, resource);
  }
  std::int64_t used(const std::string& resource, bool prod,
                    const std::optional<LoadAggregation>& aggregation) const {
    const api::NodeMetricInfo& info = *metric_->status.node_metric;
    std::optional<std::int64_t> node = amount(info.node_usage.resources, resource);
    if (aggregation && !prod) node = aggregated(*aggregation, resource);
    std::int64_t sum = prod ? (args_.prod_includes_system ? amount(info.system_usage.resources, resource) : 0)
                            : node.value_or(0);
    for (const auto& [key, pod] : cluster_.pods)
      if (pod->spec.node_name == node_.metadata.name) sum += of_pod(*pod, resource, prod, node.has_value());
    return sum;
  }

 private:
  std::optional<std::int64_t> aggregated(const LoadAggregation& wanted, const std::string& resource) const {
    const api::NodeMetricInfo& info = *metric_->status.node_metric;
    std::map<nanoseconds, std::int64_t> by_period;
    for (const auto& each : info.aggregated_node_usages)
      if (const api::ResourceMap* of_type = each.usage.find(wanted.type);
          of_type != nullptr && !of_type->resources.empty())
        by_period[each.duration->value] = amount(of_type->resources, resource);
    if (wanted.period == nanoseconds{0})
      return by_period.empty() ? amount(info.node_usage.resources, resource) : by_period.rbegin()->second;
    const auto at = by_period.find(wanted.period);
    return at == by_period.end() ? std::nullopt : std::optional(at->second);
  }

  /// What it adds to what is reported of the node; `measured`: that is not missing.
  std::int64_t of_pod(const api::Pod& pod, const std::string& resource, bool prod, bool measured) const {
    const api::PodMetricInfo* reported = nullptr;
    for (const api::PodMetricInfo& each : metric_->status.pods_metric)
      if (each.namespace_ == pod.metadata.namespace_ && each.name == pod.metadata.name &&
          !each.pod_usage.resources.empty())
        reported = &each;
    const bool prod_pod = class_of(pod) == api::KoordPriority::prod;
    if (prod && !prod_pod) return 0;
    const Numbers estimates = estimate(args_, pod);
    const auto at = estimates.find(resource);
    const std::int64_t full = at == estimates.end() ? 0 : at->second;
    if (!prod && !measured) return full;
    const std::int64_t seen = reported == nullptr ? 0 : amount(reported->pod_usage.resources, resource);
    const bool counted = !empty(estimates) && (reported == nullptr || too_young(pod));
    if (!prod) return counted ? std::max<std::int64_t>(full - seen, 0) : 0;
    const bool as_prod = reported != nullptr && reported->priority == "koord-prod";
    if (as_prod) return seen + (counted ? std::max<std::int64_t>(full - seen, 0) : 0);
    return full;
  }

  /// Its report says nothing of how much it will use.
  bool too_young(const api::Pod& pod) const {
    const auto scheduled = since(pod, "PodScheduled"), initialized = since(pod, "Initialized");
    const WallTime from = scheduled ? *scheduled : cluster_.assumed_at.at(key_of(pod));
    const auto& time = metric_->status.update_time;
    if (!time) return true;
    const auto& policy = metric_->spec.metric_collect_policy;
    const std::chrono::seconds interval{policy ? policy->report_interval_seconds.value_or(60) : 60};
    if (time->wall() - interval < from) return true;
    std::int64_t after_scheduled = args_.after_scheduled, after_initialized = args_.after_initialized;
    if (args_.customizable) {
      const auto own = [&](const char* what, std::int64_t& seconds) {
        const std::string text(
            api::value_or(pod.metadata.annotations,
                          fmt::format("scheduling.koordinator.sh/load-estimated-seconds-after-{}", what)));
        if (!text.empty()) seconds = std::stoll(text);
      };
      own("pod-scheduled", after_scheduled);
      own("initialized", after_initialized);
    }
    if (after_initialized > 0 && initialized)
      return *initialized + std::chrono::seconds(after_initialized) > time->wall();
    return after_scheduled > 0 && from + std::chrono::seconds(after_scheduled) > time->wall();
  }

  const Cluster& cluster_;
  const LoadArgs& args_;
  const api::Node& node_;
  const api::NodeMetric* metric_ = nullptr;
};

}  // namespace

Filtered load_filter(const Cluster& cluster, const LoadArgs& args, const api::Pod& pod,
                     const api::Node& node) {
  const auto rejected = [](std::string reason) {
    return Rejection{"LoadAwareScheduling", false, {std::move(reason)}};
  };
  for (const auto& owner : pod.metadata.owner_references)
    if (owner.kind == "DaemonSet") return std::nullopt;
  const Thresholds thresholds = thresholds_of(args, node);
  const bool prod = class_of(pod) == api::KoordPriority::prod && !empty(thresholds.prod),
             aggregated = !prod && thresholds.aggregated;
  const Numbers& most = prod         ? thresholds.prod
                        : aggregated ? thresholds.aggregated->thresholds
                                     : thresholds.usage;
  const Load load(cluster, args, node);
  if (empty(most) || !load.known()) return std::nullopt;
  if (args.filter_expired && load.expired()) {
    if (args.schedule_when_expired) return std::nullopt;
    return rejected("node(s) nodeMetric expired");
  }
  if (!load.says_something()) return std::nullopt;
  const Numbers own = estimate(args, pod);
  for (const auto& [resource, threshold] : most) {
    const std::int64_t there = load.there(resource);
    if (threshold == 0 || there == 0) continue;
    const auto mine = own.find(resource);
    const std::int64_t used =
        load.used(resource, prod, thresholds.aggregated) + (mine == own.end() ? 0 : mine->second);
    if (std::llround(static_cast<double>(used) / static_cast<double>(there) * 100) > threshold)
      return rejected(
          fmt::format("node(s) {}{} usage exceed threshold", resource, aggregated ? " aggregated" : ""));
  }
  return std::nullopt;
}

RawScores load_scores(const Cluster& cluster, const LoadArgs& args, const api::Pod& pod,
                      const Feasible& nodes) {
  const bool prod = args.score_by_prod && class_of(pod) == api::KoordPriority::prod;
  const Numbers own = estimate(args, pod);
  const std::set<std::string> resources = resources_of(args);
  std::vector<std::int64_t> scores;
  for (const NodeState* state : nodes) {
    const Load load(cluster, args, *state->node);
    std::int64_t sum = 0, weights = args.dominant_weight, least = 100;
    if (!load.known() || load.expired() || !load.says_something()) {
      scores.push_back(0);
      continue;
    }
    for (const std::string& resource : resources) {
      const auto mine = own.find(resource);
      const std::int64_t there = load.there(resource), used = load.used(resource, prod, args.scored) +
                                                              (mine == own.end() ? 0 : mine->second);
      const std::int64_t score = there == 0 || used > there ? 0 : (there - used) * 100 / there;
      const auto weight = args.weights.find(resource);
      sum += weight == args.weights.end() ? 0 : score * weight->second;
      weights += weight == args.weights.end() ? 0 : weight->second;
      least = std::min(least, score);
    }
    scores.push_back(weights == 0 ? 0 : (sum + least * args.dominant_weight) / weights);
  }
  return scores;
}

}  // namespace koord::reference
