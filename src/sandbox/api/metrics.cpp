// What nodes and pods use: from NodeMetrics, or by a rule.
#include "sandbox/api/metrics.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/select/selection.hpp"
#include "sandbox/usage/usage.hpp"

namespace koord::sandbox {
namespace {

constexpr Trace::Load kHalfBusy{0.5, 0.5};
constexpr std::int64_t kWindowSeconds = 60;  // where nobody says another

/// What is known of one node.
struct Figures {
  Usage node;
  std::map<std::string, Usage, std::less<>> pods;  // by key
  std::string timestamp;
  std::int64_t window = kWindowSeconds;
};

std::optional<Usage> usage_of(const json::Value* resources) {
  if (!resources) return std::nullopt;
  const auto cpu = api::Quantity::parse(text_at(*resources, "cpu")),
             memory = api::Quantity::parse(text_at(*resources, "memory"));
  if (!cpu || !memory) return std::nullopt;
  return Usage{cpu->to_double(), memory->to_double()};
}

class Reader {
 public:
  explicit Reader(const Verbs& verbs)
      : verbs_(verbs),
        pods_(*verbs.registry().get("", "pods").objects),
        nodes_(*verbs.registry().get("", "nodes").objects) {}

  /// Null: there is no such node.
  const Figures* of(std::string_view node) {
    const auto known = figures_.find(node);
    if (known != figures_.end()) return &known->second;
    const ObjectPtr object = nodes_.get("", node);
    if (!object) return nullptr;
    Figures& figures = figures_[std::string(node)];
    if (!read_metric(node, figures)) work_out(*object, figures);
    return &figures;
  }
  /// Null: nothing is known of it.
  static const Usage* of(const Figures* figures, const Object& pod) {
    if (!figures) return nullptr;
    const auto found = figures->pods.find(pod.key());
    return found == figures->pods.end() ? nullptr : &found->second;
  }
  static bool runs(const Object& pod) { return pod.field("status.phase") == "Running"; }

 private:
  bool read_metric(std::string_view node, Figures& figures) const {
    const auto kind = verbs_.registry().find("slo.koordinator.sh", "v1alpha1", "nodemetrics");
    const ObjectPtr object = kind && kind->objects ? kind->objects->get("", node) : nullptr;
    if (!object) return false;
    json::Document doc;
    load(*object, doc);
    const auto whole = usage_of(find(doc, "status", "nodeMetric", "nodeUsage", "resources"));
    if (!whole) return false;
    figures.node = *whole;
    figures.timestamp = text_at(doc, "status", "updateTime");
    figures.window =
        int_at(doc, "spec", "metricCollectPolicy", "aggregateDurationSeconds").value_or(kWindowSeconds);
    if (const json::Value* pods = find(doc, "status", "podsMetric"))
      for (const json::Value& pod : pods->elements())
        if (const auto usage = usage_of(find(pod, "podUsage", "resources")))
          figures.pods[Object::make_key(text_at(pod, "namespace"), text_at(pod, "name"))] = *usage;
    return true;
  }

  void work_out(const Object& node, Figures& figures) {
    figures.timestamp = verbs_.now_text();
    auto decoded = api::decode<api::Node>(node.bytes);
    if (!decoded) return;
    std::vector<SimulatedPod> pods;
    for (const ObjectPtr& pod : running_on(node.name))
      if (auto read = api::decode<api::Pod>(pod->bytes)) pods.push_back(SimulatedPod::of(*read));
    std::vector<const SimulatedPod*> all;
    all.reserve(pods.size());
    for (const SimulatedPod& pod : pods) all.push_back(&pod);
    const UsageSample moment = play(SimulatedNode::of(*decoded), all, kHalfBusy, nullptr);
    figures.node = moment.node;
    for (std::size_t i = 0; i < pods.size(); ++i)
      figures.pods[Object::make_key(pods[i].ns, pods[i].name)] = moment.pods[i];
  }

  const std::vector<ObjectPtr>& running_on(const std::string& node) {
    if (!looked_) {
      looked_ = true;
      for (const auto& [key, pod] : pods_.objects())
        if (runs(*pod)) running_[std::string(pod->field("spec.nodeName"))].push_back(pod);
    }
    return running_[node];
  }

  const Verbs& verbs_;
  const Collection &pods_, &nodes_;
  std::map<std::string, Figures, std::less<>> figures_;
  bool looked_ = false;
  std::map<std::string, std::vector<ObjectPtr>> running_;  // by node
};

void write_usage(json::Writer& out, const Usage& usage, double share = 1) {
  constexpr double kNano = 1e9, kKibi = 1024;
  out.key("usage").begin_object();
  out.member("cpu", fmt::format("{}n", static_cast<std::int64_t>(usage.cpu * share * kNano)));
  out.member("memory", fmt::format("{}Ki", static_cast<std::int64_t>(usage.memory * share / kKibi)));
  out.end_object();
}

// A pod's usage belongs to its containers in proportion to the CPU that they ask for.
void write_containers(json::Writer& out, const Object& object, const Usage& usage) {
  constexpr double kLeast = 0.1;  // of a container that asks for none
  json::Document pod;
  load(object, pod);
  std::vector<std::pair<std::string_view, double>> shares;
  double whole = 0;
  if (const json::Value* containers = find(pod, "spec", "containers"))
    for (const json::Value& container : containers->elements()) {
      const auto cpu = api::Quantity::parse(text_at(container, "resources", "requests", "cpu"));
      shares.emplace_back(text_at(container, "name"), cpu && cpu->sign() > 0 ? cpu->to_double() : kLeast);
      whole += shares.back().second;
    }
  out.key("containers").begin_array();
  for (const auto& [name, share] : shares) {
    out.begin_object().member("name", name);
    write_usage(out, usage, share / whole);
    out.end_object();
  }
  out.end_array();
}

void write_one(json::Writer& out, const Kind& kind, const Object& object, const Figures& figures,
               const Usage& usage, bool pod) {
  out.begin_object().member("kind", kind.kind).member("apiVersion", kind.api_version());
  out.key("metadata").begin_object().member("name", object.name).member_if("namespace", object.ns);
  out.member("creationTimestamp", figures.timestamp);
  if (!object.labels.empty()) {
    out.key("labels").begin_object();
    for (const auto& [name, value] : object.labels) out.member(name, value);
    out.end_object();
  }
  out.end_object().member("timestamp", figures.timestamp);
  out.member("window", fmt::format("{}s", figures.window));
  if (pod)
    write_containers(out, object, usage);
  else
    write_usage(out, usage);
  out.end_object();
}

}  // namespace

Outcome<std::string> usage_json(const Verbs& verbs, const Kind& kind, std::string_view ns,
                                std::string_view name, std::string_view labels, std::string_view fields) {
  const Kind& core = verbs.registry().get("", kind.resource);
  const bool pods = kind.namespaced;
  auto selection = Selection::parse(labels, fields, core);
  if (!selection) return std::move(selection).error();
  Reader reader(verbs);
  std::string text;
  json::Writer out(text);
  const auto write = [&](const Object& object) {
    if (pods && !Reader::runs(object)) return false;
    const Figures* figures = reader.of(pods ? object.field("spec.nodeName") : std::string_view(object.name));
    const Usage* usage = pods ? Reader::of(figures, object) : figures ? &figures->node : nullptr;
    if (usage) write_one(out, kind, object, *figures, *usage, pods);
    return usage != nullptr;
  };
  if (!name.empty()) {
    const ObjectPtr object = core.objects->get(ns, name);
    if (object && write(*object)) return text;
    // metrics-server's own name for them.
    const std::string resource = pods ? "podmetrics" : "nodemetrics";
    return not_found({kind.group, resource}, pods ? fmt::format("{}/{}", ns, name) : std::string(name));
  }
  out.begin_object()
      .member("kind", fmt::format("{}List", kind.kind))
      .member("apiVersion", kind.api_version());
  out.key("metadata").begin_object().end_object().key("items").begin_array();
  for (const auto& [key, object] : core.objects->in_namespace(ns))
    if (selection->matches(*object)) write(*object);
  out.end_array().end_object();
  return text;
}

}  // namespace koord::sandbox
