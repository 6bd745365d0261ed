// PodVolumes: see pod_volumes.hpp.
#include "scheduling/plugins/volume_binding/pod_volumes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/volumes/pod_claims.hpp"

namespace koord::scheduling::volume_binding {

namespace {

constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";

std::string key_of(const api::PersistentVolumeClaim& claim) {
  return fmt::format("{}/{}", claim.metadata.namespace_.view(), claim.metadata.name);
}

/// Absent means a filesystem.
std::string_view mode(const Symbol& volume_mode) {
  return volume_mode.empty() ? std::string_view("Filesystem") : volume_mode.view();
}

bool has_modes(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  const auto& has = volume.spec.access_modes;
  return std::all_of(claim.spec.access_modes.begin(), claim.spec.access_modes.end(),
                     [&](const Symbol& m) { return std::find(has.begin(), has.end(), m) != has.end(); });
}

/// What a volume that names the claim has to be, too.
bool is_as_asked(const KnownVolume& volume, const api::PersistentVolumeClaim& claim,
                 const api::Quantity& size, bool attributes_classes) {
  const api::PersistentVolumeSpec& spec = volume.object->spec;
  const auto text = [](const std::optional<Symbol>& name) {
    return name ? name->view() : std::string_view();
  };
  const std::string_view has = text(spec.volume_attributes_class_name),
                         asks = text(claim.spec.volume_attributes_class_name);
  return !(volume.capacity < size) && mode(spec.volume_mode) == mode(claim.spec.volume_mode) &&
         (attributes_classes ? has == asks : has.empty()) && !volume.object->metadata.deletion_timestamp;
}

}  // namespace

PodVolumes::Made PodVolumes::read(const api::Pod& pod, std::string& why) {
  const std::vector<volumes::PodClaim> named = volumes::claims_of(pod);
  if (named.empty()) return Made::no_claims;
  std::vector<std::shared_ptr<const api::PersistentVolumeClaim>> claims;
  std::set<const void*> met;
  for (const volumes::PodClaim& c : named) {
    auto claim = sources_.storage.claims.stored(pod.metadata.namespace_, c.name);
    if (!claim) {
      why = c.ephemeral
                ? fmt::format(
                      "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{}\"",
                      c.name)
                : fmt::format("persistentvolumeclaim \"{}\" not found", c.name);
    } else if (claim->status.phase == "Lost") {
      why = fmt::format("persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"", c.name,
                        claim->spec.volume_name.view());
    } else if (claim->metadata.deletion_timestamp) {
      why = fmt::format("persistentvolumeclaim \"{}\" is being deleted", c.name);
    } else if (c.ephemeral && !volumes::made_for(*claim, pod)) {
      why = volumes::not_made_for(*claim, pod);
    }
    if (!why.empty()) return Made::rejected;
    claim = sources_.storage.claims.find(pod.metadata.namespace_, c.name);
    if (met.insert(claim.get()).second) claims.push_back(std::move(claim));
  }
  bool immediate = false;
  for (auto& claim : claims) {
    if (volumes::is_bound(*claim)) {
      bound_.push_back({sources_.storage.known.find(claim->spec.volume_name)});
    } else if (!add_unbound(std::move(claim), immediate, why)) {
      return Made::error;
    }
  }
  if (immediate) {
    why = "pod has unbound immediate PersistentVolumeClaims";
    return Made::rejected;
  }
  // The smallest first, so that large volumes are left to large claims.
  std::stable_sort(claims_.begin(), claims_.end(), [](const Claim& a, const Claim& b) {
    if (a.is_selected != b.is_selected) return a.is_selected;
    return !a.is_selected && a.size < b.size;
  });
  for (Claim& claim : claims_)
    if (!claim.is_selected && !find_candidates(claim, why)) return Made::error;
  return Made::ready;
}

bool PodVolumes::add_unbound(std::shared_ptr<const api::PersistentVolumeClaim> object, bool& immediate,
                             std::string& why) {
  const std::string_view class_name = volumes::class_of(*object);
  const auto storage_class = class_name.empty() ? nullptr : sources_.classes.find({}, class_name);
  if (storage_class && !storage_class->volume_binding_mode) {
    why = fmt::format("VolumeBindingMode not set for StorageClass \"{}\"", class_name);
    return false;
  }
  // One that asks for a volume by name is the binder's to bind.
  if (!storage_class || *storage_class->volume_binding_mode != "WaitForFirstConsumer" ||
      !object->spec.volume_name.empty()) {
    immediate = true;
    return true;
  }
  Claim claim;
  const api::Quantity* size = object->spec.resources.requests.find("storage");
  if (size != nullptr) claim.size = *size;
  if (const Symbol* node = object->metadata.annotations.find(kSelectedNode)) {
    claim.is_selected = true;
    claim.selected = sources_.nodes.find(node->view());
    selected_apart_ = selected_apart_ || (any_selected_ && claim.selected != selected_);
    selected_ = claim.selected;
    any_selected_ = true;
  }
  claim.object = std::move(object);
  claims_.push_back(std::move(claim));
  return true;
}

bool PodVolumes::find_candidates(Claim& claim, std::string& why) {
  const api::PersistentVolumeClaim& object = *claim.object;
  const bool attributes_classes = sources_.volume_attributes_classes;
  if (const auto& asks = object.spec.volume_attributes_class_name;
      !attributes_classes && asks && !asks->empty()) {
    why = fmt::format(
        "unsupported volumeAttributesClassName is set on claim {} when the feature-gate "
        "VolumeAttributesClass is "
        "disabled",
        key_of(object));
    return false;
  }
  if (object.spec.selector) {
    Result<api::Selector> read = api::Selector::from(object.spec.selector.get());
    if (!read) {
      why = fmt::format("error creating internal label selector for claim: {}: {}", key_of(object),
                        read.error().message());
      return false;
    }
    claim.selector = std::move(*read);
  }
  const std::string_view class_name = volumes::class_of(object);
  for (const KnownVolume* v :
       sources_.storage.known.naming(object.metadata.namespace_, object.metadata.name)) {
    const std::string& uid = v->object->spec.claim_ref->uid;
    if ((uid.empty() || uid == object.metadata.uid) && volumes::class_of(*v->object) == class_name &&
        is_as_asked(*v, object, claim.size, attributes_classes)) {
      claim.named = v;
      return true;
    }
  }
  claim.available = sources_.storage.known.available(class_name);
  if (claim.available != nullptr) claim.suits.resize(claim.available->shape_limit());
  return true;
}

bool PodVolumes::usable_everywhere() const {
  return claims_.empty() && std::all_of(bound_.begin(), bound_.end(), [](const Bound& b) {
           return b.volume != nullptr && b.volume->where.everywhere() &&
                  (b.volume->migrated == 0 || b.volume->migrated_where.everywhere());
         });
}

unsigned PodVolumes::conflicts(Row row, Placement* placement) {
  const unsigned bound = bound_conflicts(row);
  const unsigned waiting = claims_.empty() ? 0 : claim_conflicts(row, placement);
  return bound | waiting;
}

unsigned PodVolumes::bound_conflicts(Row row) const {
  for (const Bound& b : bound_) {
    if (b.volume == nullptr) return kNoSuchVolume;
    const bool migrated =
        b.volume->migrated != 0 && (sources_.storage.migrated(row) & b.volume->migrated) != 0;
    if (!(migrated ? b.volume->migrated_where : b.volume->where).holds(sources_.nodes, row))
      return kNodeConflict;
  }
  return 0;
}

bool PodVolumes::suits(Claim& claim, const FreeVolumes::Entry& entry) const {
  std::int8_t& known = claim.suits[entry.shape];
  if (known == 0) {
    const api::PersistentVolume& volume = *entry.volume->object;
    const bool suits =
        is_as_asked(*entry.volume, *claim.object, claim.size, sources_.volume_attributes_classes) &&
        has_modes(volume, *claim.object) && claim.selector.matches(volume.metadata.labels);
    known = suits ? 1 : -1;
  }
  return known > 0;
}

/// A list that many rows share is gone through once, not once a row.
const std::vector<FreeVolumes::Entry>& PodVolumes::suiting(Claim& claim, const FreeVolumes::List& all) const {
  const auto [at, added] = claim.suiting.try_emplace(&all);
  if (added)
    std::copy_if(all.begin(), all.end(), std::back_inserter(at->second),
                 [&](const FreeVolumes::Entry& e) { return suits(claim, e); });
  return at->second;
}

/// The smallest volume that can be used there and is not taken by another claim of the pod.
const KnownVolume* PodVolumes::match(Claim& claim, Row row) {
  constexpr std::size_t kShort = 8;
  if (claim.named != nullptr) return claim.named->where.holds(sources_.nodes, row) ? claim.named : nullptr;
  if (claim.available == nullptr) return nullptr;
  lists_.clear();
  claim.available->of_row(row, lists_);
  const KnownVolume* found = nullptr;
  const auto look = [&](const auto& list) {
    for (const FreeVolumes::Entry& e : list) {
      if (found != nullptr && !smaller(*e.volume, *found)) return;
      if (!suits(claim, e) || !(e.sure || e.volume->where.holds(sources_.nodes, row)) ||
          chosen_.contains(e.volume))
        continue;
      found = e.volume;
      return;
    }
  };
  for (const FreeVolumes::List* list : lists_)
    if (list->size() <= kShort)
      look(*list);
    else
      look(suiting(claim, *list));
  return found;
}

unsigned PodVolumes::claim_conflicts(Row row, Placement* placement) {
  if (any_selected_ && (selected_apart_ || selected_ != row)) return kBindConflict;
  chosen_.clear();
  unmatched_.clear();
  for (Claim& claim : claims_) {
    const KnownVolume* volume = claim.is_selected ? nullptr : match(claim, row);
    if (volume == nullptr) {
      unmatched_.push_back(&claim);
      continue;
    }
    chosen_.insert(volume);
    if (placement != nullptr) placement->bindings.push_back({volume->object, claim.object});
  }
  for (Claim* claim : unmatched_)
    if (const unsigned conflict = provision(*claim, row, placement); conflict != 0) return conflict;
  return 0;
}

/// Once for all rows.
void PodVolumes::prepare_provision(Claim& claim) {
  claim.prepared = true;
  const std::string_view class_name = volumes::class_of(*claim.object);
  if (class_name.empty()) {
    claim.error = fmt::format("no class for claim \"{}\"", key_of(*claim.object));
    return;
  }
  const auto storage_class = sources_.classes.find({}, class_name);
  if (!storage_class) {
    claim.error = fmt::format("failed to find storage class \"{}\"", class_name);
    return;
  }
  const Symbol& provisioner = storage_class->provisioner;
  claim.possible = !provisioner.empty() && provisioner != kNoProvisioner;
  if (!claim.possible) return;
  claim.topology = volumes::NodeCondition(storage_class->allowed_topologies, sources_.topology);
  if (claim.object->spec.resources.requests.find("storage") == nullptr) return;
  const auto driver = sources_.drivers.find({}, provisioner);
  claim.counted = driver && driver->spec.storage_capacity.value_or(false);
  if (!claim.counted) return;
  for (const auto& [name, pool] : sources_.storage.pools.of_class(class_name)) {
    const api::Quantity* limit = volume_limit(*pool.object);
    if (limit == nullptr || limit->value() < claim.size.value()) continue;
    claim.pools.push_back(&pool);
    claim.pool_choices.add(pool.where);
  }
}

unsigned PodVolumes::provision(Claim& claim, Row row, Placement* placement) {
  if (!claim.prepared) prepare_provision(claim);
  if (!claim.error.empty()) {
    error_ = claim.error;
    return kFailed;
  }
  if (!claim.possible || !claim.topology.holds(sources_.nodes, row)) return kBindConflict;
  const StoragePool* pool = nullptr;
  if (claim.counted) {
    claim.pool_choices.first(sources_.nodes, row, [&](std::size_t number) {
      pool = claim.pools[number];
      return true;
    });
    if (pool == nullptr) return kNotEnoughSpace;
  }
  if (placement != nullptr)
    placement->provisions.push_back({claim.object, pool != nullptr ? pool->object : nullptr});
  return 0;
}

}  // namespace koord::scheduling::volume_binding
