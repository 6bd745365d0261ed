// FreeVolumes: see free_volumes.hpp.
#include "scheduling/plugins/volume_binding/free_volumes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace koord::scheduling::volume_binding {

namespace {

/// All that a claim asks of a volume but its class; each text with its length, so that none runs into
/// another.
std::string shape_text(const KnownVolume& volume) {
  const api::PersistentVolumeSpec& spec = volume.object->spec;
  std::string text;
  const auto add = [&](std::string_view part) {
    fmt::format_to(std::back_inserter(text), "{}:{}", part.size(), part);
  };
  add(volume.capacity.to_string());
  add(spec.volume_mode.view());
  add(spec.volume_attributes_class_name ? spec.volume_attributes_class_name->view() : "");
  add(fmt::format("{}", spec.access_modes.size()));
  for (const Symbol& mode : spec.access_modes) add(mode.view());
  for (const auto& [key, value] : volume.object->metadata.labels) {
    add(key.view());
    add(value.view());
  }
  return text;
}

}  // namespace

bool smaller(const KnownVolume& a, const KnownVolume& b) {
  return std::tie(a.capacity, a.object->metadata.name) < std::tie(b.capacity, b.object->metadata.name);
}

// Values

template <class Use>
void FreeVolumes::Values::each_list(const KnownVolume& volume, Use&& use) {
  for (const Symbol& value : volume.found_by->values) {
    const auto list = lists_.try_emplace(value).first;
    use(list->second);
    place(value, list->second.empty() ? nullptr : &list->second);
    if (list->second.empty()) lists_.erase(list);
  }
}

void FreeVolumes::Values::place(const Symbol& value, const List* list) {
  const DomainId domain = key_->find(value);
  if (domain == kNoDomain) return;
  if (domain >= by_domain_.size()) by_domain_.resize(key_->id_limit());
  by_domain_[domain] = list;
}

const FreeVolumes::List* FreeVolumes::Values::of(Row row) const {
  const DomainId domain = key_->domain(row);
  return domain < by_domain_.size() ? by_domain_[domain] : nullptr;
}

/// A number may be another value's now.
void FreeVolumes::Values::domain_changed(const TopologyKey& key, Row, DomainId from, DomainId to) {
  if (from < by_domain_.size() && key.nodes(from) == 0) by_domain_[from] = nullptr;
  if (to == kNoDomain) return;
  const auto list = lists_.find(key.value(to));
  place(key.value(to), list != lists_.end() ? &list->second : nullptr);
}

// Volumes

template <class Use>
void FreeVolumes::each_list(const KnownVolume& volume, Use&& use) {
  if (volume.found_by == nullptr) return use(rest_);
  const TopologyRef& key = volume.found_by->key;
  const auto values = values_.try_emplace(key.get(), key).first;
  values->second.each_list(volume, use);
  if (values->second.empty()) values_.erase(values);
}

void FreeVolumes::insert(KnownVolume& volume) {
  const bool everywhere = volume.where.everywhere();
  volume.found_by = everywhere ? nullptr : volume.where.narrowed();
  volume.shape = shape_of(volume);
  const Entry entry{&volume, volume.shape,
                    everywhere || (volume.found_by != nullptr && volume.where.only_narrowed())};
  each_list(volume, [&](List& list) { list.insert(entry); });  // which may be one list twice
  ++size_;
}

void FreeVolumes::erase(KnownVolume& volume) {
  each_list(volume, [&](List& list) { list.erase(Entry{&volume}); });
  release(volume.shape);
  --size_;
}

void FreeVolumes::of_row(Row row, std::vector<const List*>& lists) const {
  if (!rest_.empty()) lists.push_back(&rest_);
  for (const auto& [key, values] : values_)
    if (const List* list = values.of(row)) lists.push_back(list);
}

// Shapes

ShapeId FreeVolumes::shape_of(const KnownVolume& volume) {
  const auto [at, added] = shape_ids_.try_emplace(shape_text(volume));
  if (added && free_shapes_.empty()) {
    at->second = shape_limit();
    shapes_.emplace_back();
  } else if (added) {
    at->second = free_shapes_.back();
    free_shapes_.pop_back();
  }
  Shape& shape = shapes_[at->second];
  if (added) shape.text = at->first;
  ++shape.volumes;
  return at->second;
}

void FreeVolumes::release(ShapeId id) {
  Shape& shape = shapes_[id];
  if (--shape.volumes > 0) return;
  shape_ids_.erase(shape.text);
  shape.text.clear();
  free_shapes_.push_back(id);
}

}  // namespace koord::scheduling::volume_binding
