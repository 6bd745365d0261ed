// PodChanges: see pod_changes.hpp.
#include "koord/scheduling/what_if/pod_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "koord/api/rules/toleration.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugin/sign.hpp"

namespace koord::scheduling::explain {

namespace {

using Kind = PodChange::Kind;

constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";
/// Other taints are so rare that they are left out.
constexpr std::size_t kMostTaints = 16;

std::string texts(const api::List<Symbol>& values) {
  std::vector<std::string_view> all;
  for (const Symbol& value : values) all.push_back(value.view());
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string requirement(std::string_view key, std::string_view op, const api::List<Symbol>& values) {
  return values.empty() ? fmt::format("{} {}", key, op) : fmt::format("{} {} ({})", key, op, texts(values));
}

std::string selector_text(const api::Box<api::LabelSelector>& selector) {
  if (!selector) return "no pods";
  std::vector<std::string> parts;
  for (const auto& [key, value] : selector->match_labels)
    parts.push_back(fmt::format("{}={}", key.view(), value.view()));
  for (const auto& r : selector->match_expressions)
    parts.push_back(requirement(r.key.view(), r.operator_.view(), r.values));
  if (parts.empty()) return "all pods";
  return fmt::format("pods with {}", fmt::join(parts, ", "));
}

std::string term_text(const api::PodAffinityTerm& term) {
  return fmt::format("{} by {}", selector_text(term.label_selector), term.topology_key.view());
}

std::string taint_text(const api::Taint& taint) {
  if (taint.value.empty()) return fmt::format("{}:{}", taint.key.view(), taint.effect.view());
  return fmt::format("{}={}:{}", taint.key.view(), taint.value.view(), taint.effect.view());
}

bool is_disk(const api::Volume& v) {
  return v.persistent_volume_claim || v.ephemeral || v.csi || v.gce_persistent_disk ||
         v.aws_elastic_block_store || v.iscsi || v.rbd;
}

api::Quantity quantity(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu") return api::Quantity::from_milli(amount);
  const bool bytes = resource == "memory" || resource == "ephemeral-storage";
  return api::Quantity::from_int(
      amount, bytes ? api::Quantity::Format::binary_si : api::Quantity::Format::decimal_si);
}

/// The pod then asks for so much of it in all.
void ask_for(api::Pod& pod, std::string_view resource, std::int64_t amount) {
  const api::Quantity wanted = quantity(resource, amount);
  const auto set = [&](api::ResourceList& list, const api::Quantity& value) {
    if (list.contains(resource)) list[resource] = value;
  };
  for (auto* containers : {&pod.spec.containers, &pod.spec.init_containers})
    for (api::Container& c : *containers) {
      set(c.resources.requests, {});
      set(c.resources.limits, {});
    }
  set(pod.spec.overhead, {});
  if (pod.spec.resources && pod.spec.resources->requests.contains(resource)) {
    pod.spec.resources->requests[resource] = wanted;
    pod.spec.resources->limits.erase(resource);
  } else if (!pod.spec.containers.empty() && amount != 0) {
    pod.spec.containers.front().resources.requests[resource] = wanted;
  }
}

template <class T, class Goes>
void drop(api::List<T>& list, Goes goes) {
  api::List<T> kept;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!goes(i)) kept.push_back(list[i]);
  list = std::move(kept);
}

bool wants_port(const api::ContainerPort& port, const PodChange& change) {
  const std::string_view protocol = port.protocol.empty() ? "TCP" : port.protocol.view();
  return port.host_port != 0 && fmt::format("{}/{}", port.host_port, protocol) == change.subject;
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::request: return "request";
    case Kind::taint: return "taint";
    case Kind::cordon: return "unschedulable";
    case Kind::selector: return "nodeSelector";
    case Kind::expression: return "nodeAffinity";
    case Kind::pod_affinity: return "podAffinity";
    case Kind::pod_anti_affinity: return "podAntiAffinity";
    case Kind::spread: return "topologySpreadConstraint";
    case Kind::host_port: return "hostPort";
    case Kind::volume: return "volume";
  }
  return "";
}

std::string amount_text(std::string_view resource, std::int64_t amount) {
  return quantity(resource, amount).to_string();
}

PodChanges::PodChanges(std::shared_ptr<const api::Pod> pod, const NodeTable& nodes) : pod_(std::move(pod)) {
  ResourceNames resources;
  const PodInfo info = make_pod_info(pod_, resources);
  const auto request = [&](std::string_view resource, std::int64_t asked) {
    if (asked > 0) add({.kind = Kind::request, .subject = std::string(resource), .asked = asked});
  };
  request("cpu", info.requests.cpu);
  request("memory", info.requests.memory);
  request("ephemeral-storage", info.requests.storage);
  for (const Amount& a : info.requests.scalars) request(resources.name(a.resource), a.amount);
  add_node_affinity();
  add_other_pods();
  add_taints(nodes);
}

void PodChanges::add(PodChange change) {
  if (changes_.size() == kMost) {
    cut_ = true;
    return;
  }
  changes_.push_back(std::move(change));
}

void PodChanges::add_taints(const NodeTable& nodes) {
  std::map<std::string, std::pair<api::Taint, std::size_t>> found;  // and how many nodes have it
  const auto& tolerations = pod_->spec.tolerations;
  bool cordoned = false;
  for (Row row = 0; row < nodes.rows(); ++row) {
    if (!nodes.node(row)) continue;
    const api::NodeSpec& spec = nodes.node(row)->spec;
    cordoned = cordoned || spec.unschedulable;
    for (const api::Taint& taint : spec.taints) {
      if (taint.effect == api::kPreferNoSchedule ||
          api::tolerates({tolerations.data(), tolerations.size()}, taint))
        continue;
      if (taint.key == kCordonTaint) {
        cordoned = true;
        continue;
      }
      ++found.try_emplace(taint_text(taint), taint, 0).first->second.second;
    }
  }
  api::Taint cordon;
  cordon.key = kCordonTaint;
  cordon.effect = api::kNoSchedule;
  if (cordoned && !api::tolerates({tolerations.data(), tolerations.size()}, cordon))
    add({.kind = Kind::cordon, .subject = std::string(kCordonTaint)});
  std::vector<std::pair<std::size_t, std::string>> by_number;
  for (const auto& [text, taint] : found) by_number.emplace_back(taint.second, text);
  std::stable_sort(by_number.begin(), by_number.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  cut_ = cut_ || by_number.size() > kMostTaints;
  if (by_number.size() > kMostTaints) by_number.resize(kMostTaints);
  for (const auto& [number, text] : by_number) add({.kind = Kind::taint, .subject = text});
}

void PodChanges::add_node_affinity() {
  for (const auto& [key, value] : pod_->spec.node_selector)
    add({.kind = Kind::selector, .subject = fmt::format("{}={}", key.view(), value.view())});
  const api::NodeSelector* required = required_node_selector(pod_->spec);
  if (required == nullptr) return;
  for (std::size_t t = 0; t < required->node_selector_terms.size(); ++t) {
    const api::NodeSelectorTerm& term = required->node_selector_terms[t];
    for (const bool field : {false, true}) {
      const auto& list = field ? term.match_fields : term.match_expressions;
      for (std::size_t i = 0; i < list.size(); ++i)
        add({.kind = Kind::expression,
             .subject = requirement(list[i].key.view(), list[i].operator_.view(), list[i].values),
             .index = i,
             .term = t,
             .field = field});
    }
  }
}

void PodChanges::add_other_pods() {
  const auto& affinity = pod_->spec.affinity;
  const auto terms = [&](const api::Box<api::PodAffinity>& of, Kind kind) {
    for (std::size_t i = 0; of && i < of->required.size(); ++i)
      add({.kind = kind, .subject = term_text(of->required[i]), .index = i});
  };
  if (affinity) terms(affinity->pod_affinity, Kind::pod_affinity);
  if (affinity) terms(affinity->pod_anti_affinity, Kind::pod_anti_affinity);
  const auto& constraints = pod_->spec.topology_spread_constraints;
  for (std::size_t i = 0; i < constraints.size(); ++i)
    if (constraints[i].when_unsatisfiable != "ScheduleAnyway")
      add({.kind = Kind::spread,
           .subject =
               fmt::format("{} by {} with a skew of at most {}", selector_text(constraints[i].label_selector),
                           constraints[i].topology_key.view(), constraints[i].max_skew),
           .index = i});
  std::vector<std::string> ports;
  for (const auto* containers : {&pod_->spec.containers, &pod_->spec.init_containers})
    for (const api::Container& c : *containers)
      for (const api::ContainerPort& port : c.ports)
        if (port.host_port != 0)
          ports.push_back(
              fmt::format("{}/{}", port.host_port, port.protocol.empty() ? "TCP" : port.protocol.view()));
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  for (std::string& port : ports) add({.kind = Kind::host_port, .subject = std::move(port)});
  for (std::size_t i = 0; i < pod_->spec.volumes.size(); ++i) {
    const api::Volume& v = pod_->spec.volumes[i];
    if (!is_disk(v)) continue;
    add({.kind = Kind::volume,
         .subject = v.persistent_volume_claim ? v.persistent_volume_claim->claim_name : v.name.str(),
         .index = i});
  }
}

std::shared_ptr<const api::Pod> PodChanges::with(Changes changes, const Amounts& amounts) const {
  auto pod = std::make_shared<api::Pod>(*pod_);
  api::PodSpec& spec = pod->spec;
  const auto gone = [&](Kind kind, std::size_t index, std::size_t term = 0, bool field = false) {
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if ((changes & change(i)) != 0 && changes_[i].kind == kind && changes_[i].index == index &&
          changes_[i].term == term && changes_[i].field == field)
        return true;
    return false;
  };
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    if ((changes & change(i)) == 0) continue;
    const PodChange& c = changes_[i];
    switch (c.kind) {
      case Kind::request: {
        const auto it =
            std::find_if(amounts.begin(), amounts.end(), [&](const auto& a) { return a.first == i; });
        ask_for(*pod, c.subject, it == amounts.end() ? 0 : it->second);
        break;
      }
      case Kind::cordon: {
        api::Toleration t;
        t.key = c.subject;
        t.operator_ = "Exists";
        spec.tolerations.push_back(std::move(t));
        break;
      }
      case Kind::taint: {
        api::Toleration t;
        const std::string_view text = c.subject;
        const auto colon = text.rfind(':'), equals = text.find('=');
        t.key = text.substr(0, std::min(colon, equals));
        if (equals != std::string_view::npos) t.value = text.substr(equals + 1, colon - equals - 1);
        t.effect = text.substr(colon + 1);
        spec.tolerations.push_back(std::move(t));
        break;
      }
      case Kind::selector: spec.node_selector.erase(c.subject.substr(0, c.subject.find('='))); break;
      case Kind::host_port:
        for (auto* containers : {&spec.containers, &spec.init_containers})
          for (api::Container& container : *containers)
            for (api::ContainerPort& port : container.ports)
              if (wants_port(port, c)) port.host_port = 0;
        break;
      default: break;
    }
  }
  drop(spec.topology_spread_constraints, [&](std::size_t i) { return gone(Kind::spread, i); });
  drop(spec.volumes, [&](std::size_t i) { return gone(Kind::volume, i); });
  if (!spec.affinity) return pod;
  if (auto& of = spec.affinity->pod_affinity)
    drop(of->required, [&](std::size_t i) { return gone(Kind::pod_affinity, i); });
  if (auto& of = spec.affinity->pod_anti_affinity)
    drop(of->required, [&](std::size_t i) { return gone(Kind::pod_anti_affinity, i); });
  auto& node = spec.affinity->node_affinity;
  if (!node || !node->required) return pod;
  // The terms are alternatives, and one without any expression would match nothing: then the pod may go
  // anywhere.
  bool anywhere = false;
  auto& terms = node->required->node_selector_terms;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const bool empty = terms[t].match_expressions.empty() && terms[t].match_fields.empty();
    drop(terms[t].match_expressions, [&](std::size_t i) { return gone(Kind::expression, i, t, false); });
    drop(terms[t].match_fields, [&](std::size_t i) { return gone(Kind::expression, i, t, true); });
    anywhere = anywhere || (!empty && terms[t].match_expressions.empty() && terms[t].match_fields.empty());
  }
  if (anywhere) node->required.reset();
  return pod;
}

}  // namespace koord::scheduling::explain
