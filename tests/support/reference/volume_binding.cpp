// VolumeBinding, for the scheduler's oracle: see volume_binding.hpp.
#include "support/reference/volume_binding.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::reference {

namespace {

const std::string kOldClass = "volume.beta.kubernetes.io/storage-class",
                  kBindCompleted = "pv.kubernetes.io/bind-completed",
                  kBoundByController = "pv.kubernetes.io/bound-by-controller",
                  kSelectedNode = "volume.kubernetes.io/selected-node";

std::string key_of(const api::PersistentVolumeClaim& claim) {
  return fmt::format("{}/{}", claim.metadata.namespace_.view(), claim.metadata.name);
}

std::string class_of(const api::PersistentVolumeClaim& claim) {
  if (const Symbol* old = claim.metadata.annotations.find(kOldClass)) return old->str();
  return claim.spec.storage_class_name ? claim.spec.storage_class_name->str() : "";
}
std::string class_of(const api::PersistentVolume& volume) {
  const Symbol* old = volume.metadata.annotations.find(kOldClass);
  return old != nullptr ? old->str() : volume.spec.storage_class_name.str();
}

api::Quantity storage(const api::ResourceList& list) {
  const api::Quantity* there = list.find("storage");
  return there != nullptr ? *there : api::Quantity();
}

bool affine(const api::PersistentVolume& volume, const api::Node& node) {
  const auto& affinity = volume.spec.node_affinity;
  return !affinity || !affinity->required || matches(*affinity->required, node);
}

/// Kept for the claim, by whomever.
bool is_for(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  const auto& ref = volume.spec.claim_ref;
  return ref && ref->name == claim.metadata.name && ref->namespace_ == claim.metadata.namespace_ &&
         (ref->uid.empty() || ref->uid == claim.metadata.uid);
}

std::string mode(const Symbol& of) { return of.empty() ? "Filesystem" : of.str(); }
std::string text(const std::optional<Symbol>& name) { return name ? name->str() : ""; }

bool allows(const api::List<api::TopologySelectorTerm>& terms, const api::Node& node) {
  if (terms.empty()) return true;
  for (const auto& term : terms) {
    bool all = !term.match_label_expressions.empty();
    for (const auto& r : term.match_label_expressions) {
      const Symbol* has = node.metadata.labels.find(r.key.view());
      all = all && has != nullptr && std::find(r.values.begin(), r.values.end(), *has) != r.values.end();
    }
    if (all) return true;
  }
  return false;
}

}  // namespace

VolumeBinding::Claim VolumeBinding::claim(const std::string& key) const {
  if (const auto assumed = cluster_.assumed.claims.find(key); assumed != cluster_.assumed.claims.end())
    return assumed->second;
  const auto there = cluster_.claims.find(key);
  return there != cluster_.claims.end() ? there->second : nullptr;
}

VolumeBinding::Volume VolumeBinding::volume(const std::string& name) const {
  if (const auto assumed = cluster_.assumed.volumes.find(name); assumed != cluster_.assumed.volumes.end())
    return assumed->second;
  const auto there = cluster_.volumes.find(name);
  return there != cluster_.volumes.end() ? there->second : nullptr;
}

VolumeBinding::VolumeBinding(const Cluster& cluster, const api::Pod& pod) : cluster_(cluster), pod_(pod) {
  std::vector<std::string> keys;
  for (const api::Volume& v : pod.spec.volumes) {
    if (!v.persistent_volume_claim && !v.ephemeral) continue;
    const std::string name = v.ephemeral ? fmt::format("{}-{}", pod.metadata.name, v.name.view())
                                         : v.persistent_volume_claim->claim_name;
    const std::string key = fmt::format("{}/{}", pod.metadata.namespace_.view(), name);
    const auto stored = cluster.claims.find(key);
    if (stored == cluster.claims.end()) {
      rejected_ =
          v.ephemeral
              ? fmt::format(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{}\"",
                    name)
              : fmt::format("persistentvolumeclaim \"{}\" not found", name);
      return;
    }
    if (!read(*stored->second, name, v.ephemeral.has_value())) return;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  for (const std::string& key : keys)
    if (error_.empty()) sort_out(claim(key));
  if (error_.empty() && immediate_) rejected_ = "pod has unbound immediate PersistentVolumeClaims";
}

bool VolumeBinding::read(const api::PersistentVolumeClaim& stored, const std::string& name, bool ephemeral) {
  if (stored.status.phase == "Lost") {
    rejected_ = fmt::format("persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"",
                            name, stored.spec.volume_name.view());
  } else if (stored.metadata.deletion_timestamp) {
    rejected_ = fmt::format("persistentvolumeclaim \"{}\" is being deleted", name);
  } else if (ephemeral) {
    const auto& owners = stored.metadata.owner_references;
    if (std::none_of(owners.begin(), owners.end(), [&](const api::OwnerReference& o) {
          return o.controller == true && o.uid.view() == pod_.metadata.uid;
        }))
      rejected_ = fmt::format("PVC {0}/{1} was not created for pod {0}/{2} (pod is not owner)",
                              pod_.metadata.namespace_.view(), stored.metadata.name, pod_.metadata.name);
  }
  return rejected_.empty();
}

void VolumeBinding::sort_out(const Claim& claim) {
  if (!claim->spec.volume_name.empty() && claim->metadata.annotations.find(kBindCompleted) != nullptr) {
    bound_.push_back(claim);
    return;
  }
  const auto of = cluster_.classes.find(class_of(*claim));
  if (of != cluster_.classes.end() && !of->second->volume_binding_mode) {
    error_ = fmt::format(
        "running PreFilter plugin \"VolumeBinding\": VolumeBindingMode not set for "
        "StorageClass \"{}\"",
        of->first);
    return;
  }
  if (of == cluster_.classes.end() || *of->second->volume_binding_mode != "WaitForFirstConsumer" ||
      !claim->spec.volume_name.empty())
    immediate_ = true;
  else
    waiting_.push_back(claim);
}

Filtered VolumeBinding::filter(const api::Node& node) const {
  const unsigned conflicts = look_at(node, nullptr);
  if (conflicts == 0) return std::nullopt;
  Rejection out{"VolumeBinding", true, {}};
  if ((conflicts & kNodeAffinity) != 0)
    out.reasons.emplace_back("node(s) didn't match PersistentVolume's node affinity");
  if ((conflicts & kNothingToBind) != 0)
    out.reasons.emplace_back("node(s) didn't find available persistent volumes to bind");
  if ((conflicts & kNoSpace) != 0) out.reasons.emplace_back("node(s) did not have enough free storage");
  if ((conflicts & kNoVolume) != 0)
    out.reasons.emplace_back("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  std::sort(out.reasons.begin(), out.reasons.end());
  return out;
}

Assumed VolumeBinding::assumed_on(const api::Node& node) const {
  Assumed out;
  look_at(node, &out);
  return out;
}

unsigned VolumeBinding::look_at(const api::Node& node, Assumed* out) const {
  const unsigned of_bound = bound_conflict(node);
  std::vector<Claim> to_match, to_make;
  for (const Claim& c : waiting_) {
    const Symbol* selected = c->metadata.annotations.find(kSelectedNode);
    if (selected != nullptr && selected->view() != node.metadata.name) return of_bound | kNothingToBind;
    (selected != nullptr ? to_make : to_match).push_back(c);
  }
  std::stable_sort(to_match.begin(), to_match.end(), [](const Claim& a, const Claim& b) {
    return storage(a->spec.resources.requests) < storage(b->spec.resources.requests);
  });
  std::set<std::string> taken;
  for (const Claim& c : to_match) {
    const Volume found = match(*c, node, taken);
    if (!found) {
      to_make.push_back(c);
      continue;
    }
    taken.insert(found->metadata.name);
    if (out == nullptr || (is_for(*found, *c) && !found->spec.claim_ref->uid.empty())) continue;
    auto now = std::make_shared<api::PersistentVolume>(*found);
    api::ObjectReference& ref = now->spec.claim_ref.ensure();
    ref.kind = "PersistentVolumeClaim";
    ref.namespace_ = c->metadata.namespace_;
    ref.name = c->metadata.name;
    ref.uid = c->metadata.uid;
    now->metadata.annotations[kBoundByController] = "yes";
    out->volumes[found->metadata.name] = now;
  }
  for (const Claim& c : to_make) {
    if (const unsigned conflict = provision(*c, node); conflict != 0) return of_bound | conflict;
    // One that is being made for this node already stays as it is.
    if (out == nullptr || c->metadata.annotations.contains(kSelectedNode)) continue;
    auto now = std::make_shared<api::PersistentVolumeClaim>(*c);
    now->metadata.annotations[kSelectedNode] = node.metadata.name;
    out->claims[key_of(*c)] = now;
  }
  return of_bound;
}

unsigned VolumeBinding::bound_conflict(const api::Node& node) const {
  for (const Claim& c : bound_) {
    const Volume has = volume(c->spec.volume_name.str());
    if (!has) return kNoVolume;
    if (!affine(*has, node)) return kNodeAffinity;
  }
  return 0;
}

/// The smallest, of those alike the first by name; but before all others the one that is kept for it.
VolumeBinding::Volume VolumeBinding::match(const api::PersistentVolumeClaim& claim, const api::Node& node,
                                           const std::set<std::string>& taken) const {
  const api::Quantity wanted = storage(claim.spec.resources.requests);
  Volume best;
  for (const auto& [name, stored] : cluster_.volumes) {
    const Volume v = volume(name);
    if (class_of(*v) != class_of(claim) || taken.contains(name)) continue;
    if (v->spec.claim_ref && !is_for(*v, claim)) continue;
    const api::Quantity has = storage(v->spec.capacity);
    if (has < wanted || mode(v->spec.volume_mode) != mode(claim.spec.volume_mode) ||
        text(v->spec.volume_attributes_class_name) != text(claim.spec.volume_attributes_class_name) ||
        v->metadata.deletion_timestamp)
      continue;
    if (v->spec.claim_ref) return affine(*v, node) ? v : nullptr;
    if (v->status.phase != "Available" || !affine(*v, node)) continue;
    if (claim.spec.selector && !Selector::of(claim.spec.selector.get()).matches(v->metadata.labels)) continue;
    const auto& modes = v->spec.access_modes;
    if (!std::all_of(claim.spec.access_modes.begin(), claim.spec.access_modes.end(), [&](const Symbol& m) {
          return std::find(modes.begin(), modes.end(), m) != modes.end();
        }))
      continue;
    if (!best || has < storage(best->spec.capacity)) best = v;
  }
  return best;
}

unsigned VolumeBinding::provision(const api::PersistentVolumeClaim& claim, const api::Node& node) const {
  const std::string name = class_of(claim);
  const api::StorageClass& of = *cluster_.classes.at(name);
  if (of.provisioner.empty() || of.provisioner == "kubernetes.io/no-provisioner" ||
      !allows(of.allowed_topologies, node))
    return kNothingToBind;
  const api::Quantity* wanted = claim.spec.resources.requests.find("storage");
  const auto driver = cluster_.drivers.find(of.provisioner.str());
  if (wanted == nullptr || driver == cluster_.drivers.end() ||
      !driver->second->spec.storage_capacity.value_or(false))
    return 0;
  for (const auto& [key, pool] : cluster_.capacities) {
    const auto& limit = pool->maximum_volume_size ? pool->maximum_volume_size : pool->capacity;
    if (pool->storage_class_name == name && limit && limit->value() >= wanted->value() &&
        pool->node_topology && Selector::of(pool->node_topology.get()).matches(node.metadata.labels))
      return 0;
  }
  return kNoSpace;
}

}  // namespace koord::reference
