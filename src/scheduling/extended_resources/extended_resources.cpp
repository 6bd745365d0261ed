// ExtendedResources: see extended_resources.hpp.
#include "scheduling/extended_resources/extended_resources.hpp"

#include <fmt/format.h>

namespace koord::scheduling {

namespace {

/// Which of two that name the same resource backs it.
bool wins(const api::DeviceClass& a, const api::DeviceClass& b) {
  const auto &born = a.metadata.creation_timestamp, &other = b.metadata.creation_timestamp;
  return born != other ? other < born : a.metadata.name < b.metadata.name;
}

}  // namespace

ExtendedResources* ExtendedResources::of(const PluginContext& context) {
  return context.gate(kGate) ? &context.shared.get<ExtendedResources>(context) : nullptr;
}

ExtendedResources::ExtendedResources(const PluginContext& context)
    : nodes_(context.nodes), classes_(context.objects.watch<api::DeviceClass>()) {
  classes_.on_change([this](const api::DeviceClass*, const api::DeviceClass*) { changed(); });
}

void ExtendedResources::changed() {
  stale_ = true;
  for (Row row = 0; row < nodes_.rows(); ++row)
    if (nodes_.node(row) != nullptr) nodes_.mark(row);
}

const api::DeviceClass* ExtendedResources::class_of(std::string_view resource) const {
  if (stale_) read();
  if (by_resource_.empty()) return nullptr;
  const auto known = by_resource_.find(Symbol(resource));
  return known != by_resource_.end() ? known->second.get() : nullptr;
}

/// All of them: classes are few, and change rarely.
void ExtendedResources::read() const {
  stale_ = false;
  by_resource_.clear();
  classes_.all([this](const api::DeviceClass& each) {
    const Class device_class = classes_.find({}, each.metadata.name);
    by_resource_.insert_or_assign(Symbol(fmt::format("{}{}", kOfClass, each.metadata.name)), device_class);
    if (!each.spec.extended_resource_name) return;
    Class& backing = by_resource_[*each.spec.extended_resource_name];
    if (backing == nullptr || wins(each, *backing)) backing = device_class;
  });
}

ExtendedResources::Devices ExtendedResources::devices(ResourceId resource, Row row) const {
  if (!count_ || nodes_.allocatable(resource, row) > 0) return {};
  const api::DeviceClass* const device_class = class_of(resource);
  return device_class != nullptr ? count_(row, *device_class) : Devices();
}

void score_devices(ResourceScorer& scorer, const PluginContext& context) {
  ExtendedResources* const extended = ExtendedResources::of(context);
  if (extended == nullptr || !scorer.has_scalars()) return;
  extended->want_counts();
  scorer.look_elsewhere([extended](ResourceId resource, Row row) {
    const ExtendedResources::Devices devices = extended->devices(resource, row);
    return ResourceScorer::Room{devices.there, devices.taken};
  });
}

}  // namespace koord::scheduling
