// A node as JSON: see node_dump.hpp.
#include "serve/node_dump.hpp"

#include <fmt/format.h>

#include <map>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/writer.hpp"

namespace koord::scheduler {

namespace {

/// kube-scheduler's Resource, in Go's names.
template <class Of>
void write_resource(json::Writer& out, const scheduling::ResourceNames& names, scheduling::ResourceId cpu,
                    scheduling::ResourceId memory, Of of) {
  out.begin_object()
      .member("MilliCPU", of(cpu))
      .member("Memory", of(memory))
      .member("EphemeralStorage", of(scheduling::kStorage))
      .member("AllowedPodNumber", of(scheduling::kPods));
  bool any = false;
  for (scheduling::ResourceId id = scheduling::kFirstScalar; id < names.size(); ++id) {
    if (names.name(id).empty() || of(id) == 0) continue;
    if (!any) out.key("ScalarResources").begin_object();
    any = true;
    out.member(names.name(id), of(id));
  }
  if (any) {
    out.end_object();
  } else {
    out.key("ScalarResources").null();
  }
  out.end_object();
}

void write_terms(json::Writer& out, std::string_view key, const api::List<api::PodAffinityTerm>* terms) {
  out.key(key);
  if (terms == nullptr || terms->empty()) {
    out.null();
    return;
  }
  out.begin_array();
  for (const api::PodAffinityTerm& term : *terms)
    out.begin_object().member("TopologyKey", term.topology_key.view()).end_object();
  out.end_array();
}

const api::List<api::PodAffinityTerm>* required(const api::Box<api::PodAffinity>& affinity) {
  return affinity ? &affinity->required : nullptr;
}

struct Terms {
  const api::List<api::PodAffinityTerm>*affinity = nullptr, *anti_affinity = nullptr;
  bool any = false;
};

Terms terms_of(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  if (!affinity) return {};
  return {required(affinity->pod_affinity), required(affinity->pod_anti_affinity),
          affinity->pod_affinity || affinity->pod_anti_affinity};
}

template <class Wanted>
void write_pods(json::Writer& out, std::string_view key, std::span<const scheduling::PodInfo* const> pods,
                Wanted wanted) {
  bool any = false;
  for (const scheduling::PodInfo* pod : pods) {
    const Terms terms = terms_of(*pod->pod);
    if (!wanted(terms)) continue;
    if (!any) out.key(key).begin_array();
    any = true;
    out.begin_object().key("Pod").raw(api::encode(*pod->pod));
    write_terms(out, "RequiredAffinityTerms", terms.affinity);
    write_terms(out, "RequiredAntiAffinityTerms", terms.anti_affinity);
    out.end_object();
  }
  if (any) out.end_array();
}

void write_ports(json::Writer& out, std::span<const scheduling::HostPort> ports) {
  if (ports.empty()) return;
  std::map<std::string_view, std::vector<const scheduling::HostPort*>> by_address;
  for (const scheduling::HostPort& port : ports)
    by_address[port.ip.empty() ? std::string_view("0.0.0.0") : port.ip.view()].push_back(&port);
  out.key("usedPorts").begin_object();
  for (const auto& [address, of] : by_address) {
    out.key(address).begin_array();
    for (const scheduling::HostPort* port : of)
      out.begin_object().member("Protocol", port->protocol.view()).member("Port", port->port).end_object();
    out.end_array();
  }
  out.end_object();
}

void write_images(json::Writer& out, const scheduling::NodeTable& nodes, const api::Node& node) {
  if (node.status.images.empty()) return;
  std::map<Symbol, std::pair<std::int64_t, std::int64_t>> images;  // the size, and how many nodes have it
  for (const api::ContainerImage& image : node.status.images)
    for (const Symbol& name : image.names) images[name].first = image.size_bytes;
  for (scheduling::Row row = 0; row < nodes.rows(); ++row) {
    if (!nodes.node(row)) continue;
    for (const api::ContainerImage& image : nodes.node(row)->status.images)
      for (const Symbol& name : image.names)
        if (const auto it = images.find(name); it != images.end()) ++it->second.second;
  }
  out.key("imageStates").begin_object();
  for (const auto& [name, image] : images)
    out.key(name.view())
        .begin_object()
        .member("Size", image.first)
        .member("NumNodes", image.second)
        .end_object();
  out.end_object();
}

void write_claims(json::Writer& out, std::span<const scheduling::PodInfo* const> pods) {
  std::map<std::string, std::int64_t> claims;
  for (const scheduling::PodInfo* pod : pods)
    for (const api::Volume& v : pod->pod->spec.volumes)
      if (v.persistent_volume_claim)
        ++claims[fmt::format("{}/{}", pod->pod->metadata.namespace_.view(),
                             v.persistent_volume_claim->claim_name)];
  if (claims.empty()) return;
  out.key("pvcRefCounts").begin_object();
  for (const auto& [claim, pods_of] : claims) out.member(claim, pods_of);
  out.end_object();
}

}  // namespace

scheduling::ServiceAnswer dump_node(const scheduling::Engine& engine, std::string_view name) {
  const scheduling::NodeTable& nodes = engine.nodes();
  const scheduling::Row row = nodes.find(name);
  if (row == scheduling::kNoRow || !nodes.node(row))
    return scheduling::service_error(404, fmt::format("cannot find node {}", name));
  const api::Node& node = *nodes.node(row);
  const scheduling::ResourceNames& names = nodes.resources();
  const auto pods = nodes.pods(row);
  // Pods are not counted among what is requested, as in kube-scheduler.
  const auto used = [&](scheduling::ResourceId id) {
    return id == scheduling::kPods ? 0 : nodes.used(id, row);
  };
  const auto has = [&](scheduling::ResourceId id) { return nodes.allocatable(id, row); };
  scheduling::ServiceAnswer answer;
  json::Writer out(answer.json);
  out.begin_object().key("node").raw(api::encode(node));
  write_pods(out, "pods", pods, [](const Terms&) { return true; });
  write_pods(out, "podsWithAffinity", pods, [](const Terms& t) { return t.any; });
  write_pods(out, "podsWithRequiredAntiAffinity", pods,
             [](const Terms& t) { return t.anti_affinity != nullptr && !t.anti_affinity->empty(); });
  write_ports(out, nodes.ports(row));
  out.key("requested");
  write_resource(out, names, scheduling::kCpu, scheduling::kMemory, used);
  out.key("nonZeroRequested");
  write_resource(out, names, scheduling::kNonzeroCpu, scheduling::kNonzeroMemory,
                 [&](scheduling::ResourceId id) {
                   return id == scheduling::kNonzeroCpu || id == scheduling::kNonzeroMemory ? used(id) : 0;
                 });
  out.key("remaining");
  write_resource(out, names, scheduling::kCpu, scheduling::kMemory,
                 [&](scheduling::ResourceId id) { return has(id) - used(id); });
  out.key("allocatable");
  write_resource(out, names, scheduling::kCpu, scheduling::kMemory, has);
  write_images(out, nodes, node);
  write_claims(out, pods);
  out.member("generation", nodes.changes(row)).end_object();
  return answer;
}

}  // namespace koord::scheduler
