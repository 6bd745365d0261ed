// Counting pods as they come, are bound and go; the report as text and JSON.
#include "sandbox/summary/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "koord/api/values/quantity.hpp"
#include "koord/json/writer.hpp"

namespace koord::sandbox {

struct Summary::Figures {
  std::uint64_t nodes = 0, ready_nodes = 0, pods = 0, running = 0, succeeded = 0, failed = 0;
  std::map<std::string, std::uint64_t> pending;                               // by reason
  std::map<std::string, std::pair<api::Quantity, api::Quantity>> allocation;  // requested, allocatable
  double p50 = 0, p99 = 0, seconds = 0, rate = 0;
};

namespace {

api::Quantity amount(const json::Value& value) {
  auto parsed = api::Quantity::parse(value.is_string() ? std::string(value.text()) : json::to_text(value));
  return parsed ? *parsed : api::Quantity();
}

using Amounts = std::map<std::string, api::Quantity>;

void add_up(Amounts& sum, const json::Value* list) {
  if (!list || !list->is_object()) return;
  for (const auto& entry : list->members()) sum[std::string(entry.key())] += amount(entry.value);
}

// Containers and sidecars together, or the largest step of the start, if that is more.
Amounts requests_of(const json::Value& spec) {
  Amounts sum, sidecars, most;
  if (const json::Value* list = find(spec, "containers"); list && list->is_array())
    for (const auto& container : list->elements()) add_up(sum, find(container, "resources", "requests"));
  if (const json::Value* list = find(spec, "initContainers"); list && list->is_array())
    for (const auto& container : list->elements()) {
      Amounts step;
      add_up(step, find(container, "resources", "requests"));
      if (text_at(container, "restartPolicy") == "Always") {
        for (const auto& [name, value] : step) sidecars[name] += value;
        step = sidecars;
      } else {
        for (const auto& [name, value] : sidecars) step[name] += value;
      }
      for (const auto& [name, value] : step) most[name] = std::max(most[name], value);
    }
  for (const auto& [name, value] : sidecars) sum[name] += value;
  for (const auto& [name, value] : most) sum[name] = std::max(sum[name], value);
  if (const json::Value* whole = find(spec, "resources", "requests"); whole && whole->is_object())
    for (const auto& entry : whole->members()) sum[std::string(entry.key())] = amount(entry.value);
  add_up(sum, find(spec, "overhead"));
  return sum;
}

bool condition_is(const json::Value& object, std::string_view type, std::string_view value) {
  const json::Value* conditions = find(object, "status", "conditions");
  if (!conditions || !conditions->is_array()) return false;
  const auto list = conditions->elements();
  return std::any_of(list.begin(), list.end(), [&](const json::Value& each) {
    return text_at(each, "type") == type && text_at(each, "status") == value;
  });
}

double share(const api::Quantity& part, const api::Quantity& whole) {
  return whole.is_zero() ? 0 : part.to_double() / whole.to_double();
}

}  // namespace

Summary::Summary(Verbs& verbs)
    : verbs_(verbs),
      pods_(*verbs.registry().get("", "pods").objects),
      events_(*verbs.registry().get("", "events").objects),
      leases_(*verbs.registry().get("coordination.k8s.io", "leases").objects),
      reports_(verbs.store().collection("nodemetrics.slo.koordinator.sh")),
      last_change_(verbs.clock().mono()) {
  verbs_.store().add_observer(*this);
}

Summary::~Summary() { verbs_.store().remove_observer(*this); }

void Summary::on_change(Collection& collection, const Change& change) {
  if (&collection == &events_ || &collection == &leases_ || &collection == &reports_) return;
  MonoTime now = verbs_.clock().mono();
  last_change_ = now;
  if (&collection != &pods_) return;
  const Object& pod = *change.object;
  bool bound = std::any_of(pod.fields.begin(), pod.fields.end(),
                           [](const auto& field) { return field.first == "spec.nodeName"; });
  if (change.type == Change::Type::added) {
    if (created_++ == 0) first_created_ = now;
    if (!bound) waiting_.emplace(pod.uid, now);
  } else if (change.type == Change::Type::deleted) {
    ++deleted_;
    waiting_.erase(pod.uid);
    return;
  }
  if (!bound) return;
  auto it = waiting_.find(pod.uid);
  if (it == waiting_.end()) {
    if (change.type == Change::Type::added) ++bound_;
    return;
  }
  latencies_.push_back(std::chrono::duration<float>(now - it->second).count());
  waiting_.erase(it);
  ++bound_;
  last_bound_ = now;
}

template <class Counts, class Each>
void Summary::count_nodes(Counts& counts, const Each& each) const {
  json::Document doc;
  for (const auto& [key, node] : verbs_.registry().get("", "nodes").objects->objects()) {
    load(*node, doc);
    ++counts.nodes;
    counts.ready_nodes += condition_is(doc, "Ready", "True");
    each(doc);
  }
}

Progress Summary::progress() const {
  Progress out;
  count_nodes(out, [](const json::Value&) {});
  out.pods = created_ - deleted_;
  out.bound = bound_;
  out.pending = waiting_.size();
  return out;
}

Summary::Figures Summary::figures() const {
  Figures out;
  count_nodes(out, [&](const json::Value& node) {
    if (const json::Value* list = find(node, "status", "allocatable"))
      for (const auto& entry : list->members())
        out.allocation[std::string(entry.key())].second += amount(entry.value);
  });
  json::Document each;
  for (const auto& [key, pod] : pods_.objects()) {
    load(*pod, each);
    ++out.pods;
    std::string_view phase = text_at(each, "status", "phase");
    out.running += phase == "Running";
    out.succeeded += phase == "Succeeded";
    out.failed += phase == "Failed";
    const json::Value* spec = find(each, "spec");
    if (!spec) continue;
    if (text_at(*spec, "nodeName").empty()) {
      std::string reason = "not yet looked at";
      if (const json::Value* conditions = find(each, "status", "conditions");
          conditions && conditions->is_array())
        for (const auto& condition : conditions->elements())
          if (text_at(condition, "type") == "PodScheduled" && text_at(condition, "status") == "False")
            reason = text_at(condition, "message").empty() ? text_at(condition, "reason")
                                                           : text_at(condition, "message");
      ++out.pending[reason];
    } else if (phase != "Succeeded" && phase != "Failed") {
      for (const auto& [name, value] : requests_of(*spec)) out.allocation[name].first += value;
      out.allocation["pods"].first += api::Quantity::from_int(1);
    }
  }
  std::vector<float> sorted = latencies_;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty()) {
    out.p50 = sorted[(sorted.size() - 1) / 2];
    out.p99 = sorted[(sorted.size() - 1) * 99 / 100];
    out.seconds = std::chrono::duration<double>(last_bound_ - first_created_).count();
    out.rate = out.seconds > 0 ? static_cast<double>(sorted.size()) / out.seconds : 0;
  }
  return out;
}

std::string Summary::text(const std::optional<AgentTotals>& usage) const {
  Figures f = figures();
  std::uint64_t waiting = 0;
  for (const auto& [reason, count] : f.pending) waiting += count;
  std::string out;
  const auto line = [&]<class... Args>(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(out), form, std::forward<Args>(args)...);
  };
  line("nodes        {} ({} ready)\n", f.nodes, f.ready_nodes);
  line("pods         {} created, {} bound, {} pending, {} running, {} succeeded, {} failed, {} deleted\n",
       created_, bound_, waiting, f.running, f.succeeded, f.failed, deleted_);
  line("throughput   {:.0f} pods/s ({} pods bound in {:.2f} s)\n", f.rate, latencies_.size(), f.seconds);
  line("latency      p50 {:.1f} ms, p99 {:.1f} ms (creation to binding)\n", f.p50 * 1e3, f.p99 * 1e3);
  line("allocation\n");
  for (const auto& [name, amounts] : f.allocation)
    line("  {:<32} {:>14} of {:>14}  {:5.1f}%\n", name, amounts.first.to_string(), amounts.second.to_string(),
         share(amounts.first, amounts.second) * 100);
  if (usage) {
    line("used CPU, as simulated\n");
    const auto row = [&](std::string_view what, double seconds) {
      line("  {:<32} {:>14.1f} CPU seconds    {:5.1f}%\n", what, seconds,
           usage->capacity > 0 ? seconds / usage->capacity * 100 : 0);
    };
    row("latency-sensitive", usage->latency_sensitive);
    row("best-effort", usage->best_effort);
    row("system", usage->system);
    line("  best-effort work was held back for {:.0f} of {:.0f} seconds of nodes, {} pods were evicted\n",
         usage->suppressed, usage->seconds, usage->evictions);
  }
  if (waiting == 0) return out;
  line("pending, and why\n");
  std::vector<std::pair<std::uint64_t, std::string>> reasons;
  reasons.reserve(f.pending.size());
  for (const auto& [reason, count] : f.pending) reasons.emplace_back(count, reason);
  std::sort(reasons.rbegin(), reasons.rend());
  for (std::size_t i = 0; i < reasons.size() && i < 10; ++i)
    line("  {:>6}  {}\n", reasons[i].first, reasons[i].second);
  if (reasons.size() > 10) line("          and {} other reasons\n", reasons.size() - 10);
  return out;
}

std::string Summary::json(const std::optional<AgentTotals>& usage) const {
  Figures f = figures();
  std::uint64_t waiting = 0;
  for (const auto& [reason, count] : f.pending) waiting += count;
  std::string out;
  json::Writer json(out);
  const auto decimal = [&](std::string_view name, double value, int digits) {
    json.key(name).raw(fmt::format("{:.{}f}", value, digits));
  };
  json.begin_object().member("nodes", f.nodes).member("nodesReady", f.ready_nodes);
  json.key("pods").begin_object().member("created", created_).member("bound", bound_);
  json.member("pending", waiting).member("running", f.running).member("succeeded", f.succeeded);
  json.member("failed", f.failed).member("deleted", deleted_).end_object();
  json.key("pendingReasons").begin_object();
  for (const auto& [reason, count] : f.pending) json.member(reason, count);
  json.end_object();
  decimal("podsPerSecond", f.rate, 1);
  decimal("seconds", f.seconds, 3);
  json.key("latencyMilliseconds").begin_object();
  decimal("p50", f.p50 * 1e3, 2);
  decimal("p99", f.p99 * 1e3, 2);
  json.end_object().key("allocation").begin_object();
  for (const auto& [name, amounts] : f.allocation) {
    json.key(name).begin_object().member("requested", amounts.first.to_string());
    json.member("allocatable", amounts.second.to_string());
    decimal("fraction", share(amounts.first, amounts.second), 6);
    json.end_object();
  }
  json.end_object();
  if (usage) {
    json.key("usage").begin_object();
    decimal("seconds", usage->seconds, 1);
    decimal("capacity", usage->capacity, 1);
    decimal("latencySensitive", usage->latency_sensitive, 1);
    decimal("bestEffort", usage->best_effort, 1);
    decimal("busy", usage->busy, 1);
    decimal("lost", usage->lost, 1);
    decimal("system", usage->system, 1);
    decimal("suppressed", usage->suppressed, 1);
    json.member("evictions", usage->evictions).end_object();
  }
  json.end_object();
  return out;
}

}  // namespace koord::sandbox
