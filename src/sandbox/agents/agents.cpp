// The simulated agents' work: note what changed, look at a node when its time comes, write to the store.
#include "sandbox/agents/agents.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "sandbox/nodes/kubelets.hpp"

namespace koord::sandbox {
namespace {

/// The typed form of what is stored; what cannot be read is as if it were empty.
template <class T>
std::shared_ptr<const T> typed(const ObjectPtr& object) {
  if (!object) return nullptr;
  auto decoded = api::decode<T>(object->bytes);
  return decoded ? std::make_shared<const T>(*std::move(decoded)) : std::make_shared<const T>();
}

}  // namespace

Agents::Agents(Verbs& verbs, Trace trace, AgentSettings settings)
    : verbs_(verbs),
      trace_(std::move(trace)),
      settings_(settings),
      began_(verbs.clock().mono()),
      pods_(verbs.registry().get("", "pods")),
      nodes_(verbs.registry().get("", "nodes")),
      metrics_(verbs.store().collection("nodemetrics.slo.koordinator.sh")),
      slos_(verbs.store().collection("nodeslos.slo.koordinator.sh")),
      wheel_(verbs.clock(), [this](Job& job) { run(job); }) {
  verbs_.store().add_observer(*this);
}

Agents::~Agents() { verbs_.store().remove_observer(*this); }

void Agents::on_change(Collection& collection, const Change& change) {
  const Object& object = *change.object;
  if (&collection == nodes_.objects) return node_changed(change);
  const auto mark = [&](std::string_view name, auto note) {
    if (const auto node = known_.find(name); node != known_.end()) note(node->second);
  };
  if (&collection == pods_.objects)
    mark(object.field("spec.nodeName"), [&](Node& node) { node.pods_changed.insert(object.key()); });
  else if (&collection == &slos_)
    mark(object.name, [](Node& node) { node.slo_changed = true; });
  else if (&collection == &metrics_ && !reporting_)
    mark(object.name, [](Node& node) { node.metric_changed = true; });
}

void Agents::node_changed(const Change& change) {
  const Object& object = *change.object;
  const auto node = known_.find(object.name);
  if (change.type == Change::Type::deleted) {
    if (node == known_.end()) return;
    gone_ += node->second.agent->totals();
    known_.erase(node);
    return;
  }
  if (node != known_.end()) {
    node->second.node_changed = true;
    return;
  }
  if (is_left_alone(object)) return;
  Node& mine = known_[object.name];
  mine.uid = object.uid;
  mine.agent = std::make_unique<NodeAgent>(trace_, next_machine_++, settings_, began_, verbs_.clock().mono());
  // Spread over the period, so that thousands of nodes do not report in one moment.
  const nanoseconds period = mine.agent->period();
  const auto spread = period / 64 * static_cast<std::int64_t>(std::hash<std::string>()(object.name) % 64);
  wheel_.add(spread, {object.name, object.uid});
}

void Agents::run(Job& job) {
  const auto it = known_.find(job.node);
  if (it == known_.end() || it->second.uid != job.uid) return;
  Node& node = it->second;
  look_at(job.node, node);
  const NodeAgent::TickOutcome outcome = node.agent->tick(verbs_.clock().mono());
  if (outcome.report) report(job.node, *node.agent);
  for (const NodeAgent::Victim& victim : outcome.evict) evict(victim, *node.agent);
  wheel_.add(node.agent->period(), std::move(job));
}

void Agents::look_at(const std::string& name, Node& node) {
  if (std::exchange(node.node_changed, false)) {
    const ObjectPtr object = nodes_.objects->get("", name);
    const auto seen = typed<api::Node>(object);
    node.agent->set_node(SimulatedNode::of(*seen));
    if (!std::exchange(node.met, true)) meet(name, *object, node);
  }
  if (std::exchange(node.slo_changed, false)) node.agent->set_slo(typed<api::NodeSlo>(slos_.get("", name)));
  if (std::exchange(node.metric_changed, false)) {
    const auto metric = typed<api::NodeMetric>(metrics_.get("", name));
    node.agent->set_policy(metric ? metric->spec : api::NodeMetricSpec());
  }
  for (const std::string& key : std::exchange(node.pods_changed, {})) look_at_pod(name, key, *node.agent);
}

void Agents::meet(const std::string& name, const Object& object, Node& node) {
  const std::string says = fmt::format("machine {} of a trace, {:g} times as fast; nothing is measured",
                                       node.agent->machine(), settings_.speed);
  verbs_.write_trusted(nodes_, object, [&](json::Document& doc) {
    json::Arena& arena = doc.arena();
    set_text(object_at(object_at(doc, "metadata", arena), "annotations", arena), kSimulated, says, arena);
  });
  // Pods that were bound before the node was known.
  for (const auto& [key, pod] : pods_.objects->objects())
    if (pod->field("spec.nodeName") == name) node.pods_changed.insert(key);
}

void Agents::look_at_pod(const std::string& node, const std::string& key, NodeAgent& agent) {
  const std::size_t slash = key.find('/');
  const std::string_view ns = std::string_view(key).substr(0, slash),
                         name = std::string_view(key).substr(slash + 1);
  const ObjectPtr pod = pods_.objects->get(ns, name);
  if (!pod || pod->field("spec.nodeName") != node || pod->field("status.phase") != "Running")
    return agent.remove_pod(ns, name);
  if (!agent.has_pod(ns, name, pod->uid)) agent.add_pod(SimulatedPod::of(*typed<api::Pod>(pod)));
}

void Agents::report(const std::string& name, const NodeAgent& agent) {
  const ObjectPtr metric = metrics_.get("", name);
  const auto kind = verbs_.registry().find("slo.koordinator.sh", "v1alpha1", "nodemetrics");
  if (!metric || !kind) return;  // koord-manager makes it
  const std::string json = api::encode(agent.status(verbs_.clock().now()));
  json::Document status;
  if (!status.read(json)) return;
  reporting_ = true;
  verbs_.write_trusted(*kind, *metric, [&](json::Document& doc) {
    set(doc, "status", json::clone(status, doc.arena()), doc.arena());
  });
  reporting_ = false;
}

void Agents::evict(const NodeAgent::Victim& victim, NodeAgent& agent) {
  DeleteOptions options;
  options.uid = victim.uid;
  if (!verbs_.evict(victim.ns, victim.name, options)) return;  // a disruption budget: another time
  agent.evicted(victim.ns, victim.name);
  json::Document event;
  json::Arena& arena = event.arena();
  const std::string now = verbs_.now_text();
  event.set_object();
  set_text(event, "reason", "evictPodSuccess", arena);
  set_text(event, "type", "Warning", arena);
  set_text(event, "message",
           fmt::format("evict Pod:{}/{}, reason: trigger by koordlet feature {}, message: simulated",
                       victim.ns, victim.name, victim.reason),
           arena);
  set_text(event, "firstTimestamp", now, arena);
  set_text(event, "lastTimestamp", now, arena);
  set_int(event, "count", 1, arena);
  set_text(object_at(event, "source", arena), "component", "koordlet", arena);
  set_text(object_at(event, "metadata", arena), "name",
           fmt::format("{}.{}", victim.name, verbs_.random_suffix()), arena);
  json::Value& about = object_at(event, "involvedObject", arena);
  set_text(about, "apiVersion", "v1", arena);
  set_text(about, "kind", "Pod", arena);
  set_text(about, "namespace", victim.ns, arena);
  set_text(about, "name", victim.name, arena);
  set_text(about, "uid", victim.uid, arena);
  (void)verbs_.create(verbs_.registry().get("", "events"), victim.ns, event);  // nobody waits for it
}

nanoseconds Agents::work_left(const Object& pod, nanoseconds whole) const {
  const auto node = known_.find(pod.field("spec.nodeName"));
  if (node == known_.end() || !node->second.agent->has_pod(pod.ns, pod.name, pod.uid)) return nanoseconds(0);
  return std::max(whole - node->second.agent->worked(pod.ns, pod.name), nanoseconds(0));
}

AgentTotals Agents::totals() const {
  AgentTotals all = gone_;
  for (const auto& [name, node] : known_) all += node.agent->totals();
  return all;
}

}  // namespace koord::sandbox
