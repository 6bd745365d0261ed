// DeviceNodes: see device_nodes.hpp.
#include "scheduling/plugins/device_share/device_nodes.hpp"

#include <fmt/format.h>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugin/reserved_room.hpp"
#include "scheduling/plugins/device_share/request/demand.hpp"

namespace koord::scheduling {

namespace device_share {

namespace {

constexpr metrics::Metric kBadlyPlanned{
    .name = "scheduler_secondary_device_not_well_planned",
    .type = metrics::Type::gauge,
    .help = "1 for a node whose Device says that its secondary devices are not planned well.",
    .labels = {"node_name"},
    .max_series = 20'000};

/// Whether what is said now counts instead of what is known.
bool tells_more(const Given& said, const Given& known) {
  return said != known && (!said.is_unclear() || known.is_unclear());
}

}  // namespace

DeviceNodes::DeviceNodes(const PluginContext& context)
    : nodes_(context.nodes),
      objects_(context.objects.watch<api::Device>()),
      complaints_(context.shared.get<Complaints>()),
      cycle_(context.cycle),
      key_(context.key({})),
      common_(context.shared.get<CommonDevices>()),
      doubts_(common_, complaints_),
      rows_(context.nodes) {
  context.observe(*this);
  common_.set_shares_side(this);
  objects_.on_change([this](const api::Device* before, const api::Device* now) {
    const std::string& name = (now != nullptr ? now : before)->metadata.name;
    if (measured_ && now == nullptr) badly_planned_.remove({name});
    if (now == nullptr) doubts_.forget(name);
    if (now != nullptr) tell_planned(*now);
    // That of a node that is not there waits in the store.
    const Row row = nodes_.find(name);
    if (row == kNoRow || !nodes_.node(row)) return;
    renew(row, nodes_.node(row).get(), now != nullptr ? objects_.find({}, name) : nullptr);
    nodes_.mark(row);
  });
}

void DeviceNodes::measure(metrics::Registry& registry) {
  badly_planned_ = registry.gauges(kBadlyPlanned);
  measured_ = true;
  objects_.all([this](const api::Device& device) { tell_planned(device); });
  doubts_.measure(registry);
}

void DeviceNodes::tell_planned(const api::Device& device) const {
  if (!measured_) return;
  const bool badly = api::value_or(device.metadata.labels, api::kSecondaryDeviceWellPlannedLabel) == "false";
  if (badly)
    badly_planned_.with({device.metadata.name}).set(1);
  else
    badly_planned_.remove({device.metadata.name});
}

const DeviceNodes::OfRow& DeviceNodes::of(Row row) const {
  static const OfRow kNothing;
  const OfRow* const of = rows_.find(row);
  return of != nullptr ? *of : kNothing;
}

std::shared_ptr<const Given> DeviceNodes::read(const PodInfo& info) {
  const api::Pod& pod = *info.pod;
  auto read = given_by_annotations(pod);
  if (read) return *std::move(read);
  Given given;
  given.unclear = asked_types(info, nodes_.resources());
  std::string types;
  for (const DeviceType type : kAllDeviceTypes)
    if (given.unclear[index(type)]) types += fmt::format("{}{}", types.empty() ? "" : ", ", to_string(type));
  const std::string what =
      types.empty()
          ? "it asks for no devices, and counts as if it had none"
          : fmt::format(
                "nobody can tell which devices it has, and node {} gives no {} until the annotation "
                "is repaired or the pod goes",
                pod.spec.node_name.view(), types);
  complaints_.say(is_placeholder(pod) ? placed_name(pod).word : "Pod", pod.metadata,
                  fmt::format("{}: {}", read.error().message(), what));
  return types.empty() ? nullptr : std::make_shared<const Given>(std::move(given));
}

void DeviceNodes::renew(Row row, const api::Node* node, std::shared_ptr<const api::Device> device) {
  OfRow& of = rows_[row];
  of.device = std::move(device);
  if (of.device == nullptr) {
    if (of.known) of.ledger.bind(shapes_.read(of.last.get(), node), {});
    return;
  }
  of.last = of.device;
  of.known = true;
  auto shape = shapes_.read(of.device.get(), node);
  if (!shape->unread.empty()) complaints_.say("Device", of.device->metadata, shape->unread);
  const auto healthy = healthy_places(*shape, of.device.get());
  of.ledger.bind(std::move(shape), healthy);
  // A Device that is gone leaves its names to who has something of it.
  common_.list(of.device->metadata.name, gpu_names(*of.ledger.devices().shape, *of.device));
  tell_shared(row);
}

void DeviceNodes::tell_shared(Row row) {
  const OfRow& now = of(row);
  if (!now.known) return;
  const SharedGpus shared = shared_gpus(now.ledger);
  common_.share(nodes_.name(row).str(), shared.taken, shared.unlisted);
  if (now.device != nullptr) doubts_.look(*now.ledger.devices().shape, *now.device);
}

void DeviceNodes::others_changed(std::string_view node) {
  const Row row = nodes_.find(node);
  if (row == kNoRow || !of(row).known) return;
  OfRow& here = rows_[row];
  const Places before = here.ledger.withheld(), now = common_.claimed(node);
  if (before != now) {
    here.ledger.withhold(now);
    nodes_.mark(row);
    // What a group takes back that is not placed is no news to those that were refused.
    if ((before & ~now) != 0 && !cycle_.takes_back()) cycle_.happened(key_, kTold);
  }
  if (here.device != nullptr) doubts_.look(*here.ledger.devices().shape, *here.device);
}

void DeviceNodes::count(Row row, const PodInfo& pod, std::shared_ptr<const Given> given) {
  OfRow& of = rows_[row];
  if (of.known) of.ledger.remove(pod);
  if (given != nullptr) {
    if (!of.known) {
      of.known = true;
      of.ledger.bind(shapes_.read(nullptr, nodes_.node(row).get()), {});
    }
    of.ledger.add({&pod, std::move(given), lodges_in(pod)});
  }
  tell_shared(row);
}

void DeviceNodes::give(Row row, const PodInfo& pod, std::shared_ptr<const Given> given) {
  pod.kept.put(given);
  if (row == kNoRow) return;
  count(row, pod, std::move(given));
  nodes_.mark(row);
}

void DeviceNodes::pod_added(Row row, const PodInfo& pod) {
  // What is written into a pod that is not bound is a wish.
  auto said = pod.pod->spec.node_name.empty() ? nullptr : read(pod);
  auto given = pod.kept.share<const Given>();
  if (said != nullptr && (given == nullptr || tells_more(*said, *given))) {
    given = std::move(said);
    pod.kept.put(given);
  }
  if (given != nullptr) count(row, pod, std::move(given));
}

void DeviceNodes::pod_removed(Row row, const PodInfo& pod) {
  if (!of(row).known) return;
  rows_[row].ledger.remove(pod);
  tell_shared(row);
}

void DeviceNodes::pod_changed(Row row, const PodInfo& pod) {
  if (pod.pod->spec.node_name.empty()) return;
  auto said = read(pod);
  const Given* const has = of(row).ledger.of(pod);
  const bool had = has != nullptr;
  // An annotation that is gone takes nothing back: the pod runs with what it was given. Where that was not
  // clear somebody has cleared it up.
  const bool tells =
      said != nullptr ? has == nullptr || tells_more(*said, *has) : has != nullptr && has->is_unclear();
  if (tells) {
    give(row, pod, std::move(said));
    // Others may have what it does not have any more.
    if (had) cycle_.happened(key_, kTold);
    return;
  }
  const DeviceLedger::Holder* const holder =
      has != nullptr ? of(row).ledger.find(pod.pod->metadata.uid) : nullptr;
  if (holder == nullptr || holder->in == lodges_in(pod)) return;
  auto given = holder->given;  // the holder goes when it is counted anew
  give(row, pod, std::move(given));
}

void DeviceNodes::node_changed(Row row, const api::Node*, const api::Node* now) {
  std::shared_ptr<const api::Device> device;
  if (now != nullptr) device = objects_.find({}, now->metadata.name);
  renew(row, now, std::move(device));
}

}  // namespace device_share

extern const metrics::Table kDeviceMetrics = {&device_share::kBadlyPlanned, &device_share::kGivenTwice,
                                              &device_share::kNameless};

}  // namespace koord::scheduling
