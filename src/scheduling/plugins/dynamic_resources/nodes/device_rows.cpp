// DeviceRows: see device_rows.hpp.
#include "scheduling/plugins/dynamic_resources/nodes/device_rows.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "koord/api/types/core_v1/node.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

/// Whether the rule is about devices of the slice; as kube-scheduler has it, one without a selector is.
bool taints_of_slice(const api::DeviceTaintRule& rule, const api::ResourceSlice& slice) {
  const auto& selector = rule.spec.device_selector;
  return !selector || ((!selector->driver || *selector->driver == slice.spec.driver) &&
                       (!selector->pool || *selector->pool == slice.spec.pool.name));
}

}  // namespace

bool gate_of(const PluginContext& context, std::string_view name, bool otherwise) {
  return context.gates != nullptr && context.gates->known(name) ? context.gates->enabled(name) : otherwise;
}

Features features_of(const PluginContext& context) {
  const auto on = [&](std::string_view name, bool otherwise) { return gate_of(context, name, otherwise); };
  return {.admin_access = on("DRAAdminAccess", true),
          .prioritized_list = on("DRAPrioritizedList", true),
          .partitionable_devices = on("DRAPartitionableDevices", false),
          .consumable_capacity = on("DRAConsumableCapacity", false),
          .device_taints = on("DRADeviceTaints", false),
          .binding_conditions =
              on("DRADeviceBindingConditions", false) && on("DRAResourceClaimDeviceStatus", true)};
}

DeviceRows::DeviceRows(const PluginContext& context, std::vector<std::string> numa_attributes)
    : nodes_(context.nodes),
      slices_(context.objects.watch<api::ResourceSlice>()),
      rules_(gate_of(context, "DRADeviceTaintRules", false) ? &context.objects.watch<api::DeviceTaintRule>()
                                                            : nullptr),
      features_(features_of(context)),
      numa_attributes_(std::move(numa_attributes)),
      verdicts_(std::ref(selectors_)) {
  context.observe(*this);
  slices_.on_change([this](const api::ResourceSlice* before, const api::ResourceSlice* now) {
    slice_changed(before, now);
  });
  if (rules_ != nullptr)
    rules_->on_change([this](const api::DeviceTaintRule* before, const api::DeviceTaintRule* now) {
      rule_changed(before, now);
    });
}

const Result<NodePools>& DeviceRows::pools(Row row) {
  if (row >= rows_.size()) rows_.resize(nodes_.rows());
  OfRow& of = rows_[row];
  if (of.pools) return *of.pools;
  of.pools = std::make_unique<const Result<NodePools>>(gather(row));
  if (*of.pools)
    for (const NodePools::Pool& pool : (*of.pools)->pools) {
      SlicePool* const known = index_.find(pool.driver, pool.name);
      if (known == nullptr || known->wide == 0) continue;
      if (known->reached.size() <= row) known->reached.resize(nodes_.rows());
      known->reached[row] = true;
    }
  return *of.pools;
}

Result<NodePools> DeviceRows::gather(Row row) const {
  const api::Node& node = *nodes_.node(row);
  std::vector<std::shared_ptr<const Slice>> slices;
  index_.of_node(nodes_.name(row), [&](const SlicePool& pool) {
    slices.insert(slices.end(), pool.slices.begin(), pool.slices.end());
  });
  auto gathered = gather_pools(slices, {node.metadata.name, node.metadata.labels}, features_);
  if (!gathered) return std::move(gathered).error().context("gather pool information");
  return gathered;
}

void DeviceRows::touched(const DeviceId& device) {
  const SlicePool* const pool = index_.find(device.driver, device.pool);
  if (pool == nullptr) return;
  for (Row row = 0; row < pool->reached.size() && row < rows_.size(); ++row)
    if (pool->reached[row]) changed(row);
  if (pool->wide != 0) return;
  Symbol last;
  for (const auto& slice : pool->slices) {
    const Symbol node = node_of(*slice);
    if (node == std::exchange(last, node)) continue;
    if (const Row row = nodes_.find(node); row < rows_.size()) changed(row);
  }
}

void DeviceRows::node_changed(Row row, const api::Node* before, const api::Node* now) {
  if (before != nullptr && now != nullptr && before->metadata.labels == now->metadata.labels) return;
  forget(row);
}

void DeviceRows::slice_changed(const api::ResourceSlice* before, const api::ResourceSlice* now) {
  const auto node_named = [](const api::ResourceSlice* slice) {
    return slice != nullptr ? slice->spec.node_name.value_or(Symbol()) : Symbol();
  };
  const Symbol left = node_named(before), come = node_named(now);
  if (watcher_ != nullptr)
    for (const Symbol& node : {left, come})
      if (!node.empty()) watcher_->before_change(node.str());
  if (before != nullptr) {
    const auto known = index_.find(before->metadata.name);
    if (SlicePool* const pool = index_.find(before->spec.driver, before->spec.pool.name)) forget(*pool);
    if (known) {
      verdicts_.forget(*known);
      numa_slices_ -= known->knows_numa() ? 1 : 0;
    }
    index_.remove(before->metadata.name);
  }
  if (now != nullptr) {
    auto slice = std::make_shared<const Slice>(tainted(slices_.find({}, now->metadata.name)), numbers_,
                                               numa_attributes_);
    numa_slices_ += slice->knows_numa() ? 1 : 0;
    forget(index_.put(std::move(slice)));
  }
  if (watcher_ == nullptr) return;
  if (!left.empty()) tell_after(left);
  if (!come.empty() && come != left) tell_after(come);
}

void DeviceRows::tell_after(const Symbol& node) const {
  std::vector<std::shared_ptr<const Slice>> slices;
  index_.of_node(node, [&](const SlicePool& pool) {
    for (const auto& slice : pool.slices)
      if (node_of(*slice) == node) slices.push_back(slice);
  });
  watcher_->after_change(node.str(), slices);
}

void DeviceRows::rule_changed(const api::DeviceTaintRule* before, const api::DeviceTaintRule* now) {
  slices_.all([&](const api::ResourceSlice& slice) {
    const auto concerns = [&](const api::DeviceTaintRule* rule) {
      return rule != nullptr && taints_of_slice(*rule, slice);
    };
    if (concerns(before) || concerns(now)) slice_changed(&slice, &slice);
  });
}

std::shared_ptr<const api::ResourceSlice> DeviceRows::tainted(
    std::shared_ptr<const api::ResourceSlice> slice) const {
  if (rules_ == nullptr || rules_->size() == 0) return slice;
  std::shared_ptr<api::ResourceSlice> with;
  rules_->all([&](const api::DeviceTaintRule& rule) {
    if (!taints_of_slice(rule, *slice)) return;
    const auto& selector = rule.spec.device_selector;
    for (std::size_t i = 0; i < slice->spec.devices.size(); ++i) {
      if (selector && selector->device && *selector->device != slice->spec.devices[i].name) continue;
      if (!with) with = std::make_shared<api::ResourceSlice>(*slice);
      with->spec.devices[i].taints.push_back(rule.spec.taint);
    }
  });
  if (with) return with;
  return slice;
}

/// Of every row that the pool may have to do with.
void DeviceRows::forget(const SlicePool& pool) {
  if (pool.wide != 0) {
    for (Row row = 0; row < rows_.size(); ++row) forget(row);
    return;
  }
  for (const auto& slice : pool.slices)
    if (const Row row = nodes_.find(node_of(*slice)); row != kNoRow) forget(row);
}

void DeviceRows::forget(Row row) {
  if (row >= rows_.size()) rows_.resize(std::max<std::size_t>(nodes_.rows(), row + 1));
  rows_[row].pools.reset();
  changed(row);
}

void DeviceRows::changed(Row row) {
  ++rows_[row].changes;
  if (told_.size() == kMostTold) {
    first_told_ += told_.size();
    told_.clear();
  }
  told_.push_back(row);
  if (on_change_) on_change_(row);
}

std::optional<std::span<const Row>> DeviceRows::changed_since(std::uint64_t& from) const {
  const std::uint64_t begin = std::exchange(from, first_told_ + told_.size());
  if (begin < first_told_) return std::nullopt;
  return std::span(told_).subspan(static_cast<std::size_t>(begin - first_told_));
}

}  // namespace koord::scheduling::dynamic_resources
