// Devices as JSON: see describe.hpp.
#include "scheduling/plugins/device_share/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::device_share {

namespace {

/// What a device has, or somebody has of it, by minor and type. Keys are texts, in their order.
using Detail = std::map<std::string_view, std::map<std::string, api::ResourceList>>;

void add(api::ResourceList& to, const api::ResourceList& amounts) {
  for (const auto& [name, amount] : amounts) to[name] += amount;
}

class Description {
 public:
  Description(const DeviceNodes::OfRow& of, json::Writer& json) : of_(of), json_(json) {}

  void write() {
    const NodeDevices& devices = of_.ledger.devices();
    Detail total, free, used;
    for (const DeviceType type : kAllDeviceTypes) {
      const DeviceShape::OfType& list = devices.shape->of(type);
      for (std::size_t place = 0; place < list.devices.size(); ++place) {
        const std::string minor = std::to_string(list.devices[place].minor);
        total[to_string(type)][minor] = write_amounts(type, devices.total_of(type, place));
        free[to_string(type)][minor] = write_amounts(type, devices.free_of(type, place));
        if (const Amounts& amounts = devices.used_of(type, place); !amounts.zero())
          used[to_string(type)][minor] = write_amounts(type, amounts);
      }
    }
    json_.begin_object();
    sum("deviceTotal", total);
    sum("deviceFree", free);
    sum("deviceUsed", used);
    detail("deviceTotalDetail", total);
    detail("deviceFreeDetail", free);
    detail("deviceUsedDetail", used);
    write_holders();
    json_.end_object();
  }

 private:
  void amounts(const api::ResourceList& list) {
    json_.begin_object();
    for (const auto& [name, amount] : list) json_.member(name.view(), amount.to_string());
    json_.end_object();
  }
  void sum(std::string_view key, const Detail& of) {
    api::ResourceList all;
    for (const auto& [type, devices] : of)
      for (const auto& [minor, list] : devices) add(all, list);
    json_.key(key);
    amounts(all);
  }
  void by_minor(const std::map<std::string, api::ResourceList>& devices) {
    json_.begin_object();
    for (const auto& [minor, list] : devices) {
      json_.key(minor);
      amounts(list);
    }
    json_.end_object();
  }
  void detail(std::string_view key, const Detail& of) {
    json_.key(key);
    json_.begin_object();
    for (const auto& [type, devices] : of) {
      json_.key(type);
      by_minor(devices);
    }
    json_.end_object();
  }
  void write_holders() {
    std::map<std::string_view, std::map<std::string, std::map<std::string, api::ResourceList>>> all;
    for (const DeviceLedger::Holder& holder : of_.ledger.holders())
      for (const Given::Device& device : holder.given->devices)
        all[to_string(device.type)][pod_key(*holder.pod->pod)][std::to_string(device.minor)] =
            write_amounts(device.type, device.amounts);
    json_.key("allocateSet");
    json_.begin_object();
    for (const auto& [type, pods] : all) {
      json_.key(type);
      json_.begin_object();
      for (const auto& [pod, devices] : pods) {
        json_.key(pod);
        by_minor(devices);
      }
      json_.end_object();
    }
    json_.end_object();
  }

  const DeviceNodes::OfRow& of_;
  json::Writer& json_;
};

}  // namespace

api::ResourceList total(const Given& given) {
  api::ResourceList all;
  for (const Given::Device& device : given.devices) add(all, write_amounts(device.type, device.amounts));
  return all;
}

Left devices_left(const DeviceLedger& ledger, const DeviceDemand& demand) {
  const NodeDevices& devices = ledger.devices();
  Left left;
  for (const DeviceType type : kAllDeviceTypes) {
    if (!demand.of(type).wanted) continue;
    const Places all = devices.shape->of(type).all, healthy = devices.healthy[index(type)];
    const Places taken = devices.taken[index(type)];
    if (!left.text.empty()) left.text += "; ";
    const auto unclear = std::ranges::find_if(ledger.holders(), [&](const DeviceLedger::Holder& holder) {
      return holder.given->unclear[index(type)];
    });
    if (unclear != ledger.holders().end()) {
      left.text += fmt::format("{} {}, none of them given, as nobody can tell which {} has",
                               std::popcount(all), to_string(type), pod_key(*unclear->pod->pod));
      continue;
    }
    int in_part = 0;
    for (Places rest = healthy & taken; rest != 0; rest &= rest - 1)
      in_part += devices.free_of(type, static_cast<std::size_t>(std::countr_zero(rest))).zero() ? 0 : 1;
    const Places claimed = type == DeviceType::gpu ? all & ledger.withheld() : 0;
    const int free = std::popcount(healthy & ~taken), sick = std::popcount(all & ~healthy & ~claimed);
    left.free += free;
    left.text += fmt::format("{} of {} {} free", free, std::popcount(all), to_string(type));
    if (in_part > 0) left.text += fmt::format(", {} in part", in_part);
    if (claimed != 0) left.text += fmt::format(", {} of resource claims", std::popcount(claimed));
    if (sick > 0) left.text += fmt::format(", {} not healthy", sick);
  }
  return left;
}

std::string describe(const DeviceNodes::OfRow& of) {
  std::string text;
  json::Writer json(text);
  Description(of, json).write();
  return text;
}

std::string describe(const DeviceNodes& devices, const NodeTable& nodes) {
  std::map<std::string_view, const DeviceNodes::OfRow*> known;
  for (Row row = 0; row < nodes.rows(); ++row)
    if (nodes.node(row) && devices.of(row).known)
      known.emplace(nodes.node(row)->metadata.name, &devices.of(row));
  std::string text;
  json::Writer json(text);
  json.begin_object();
  for (const auto& [name, of] : known) {
    json.key(name);
    Description(*of, json).write();
  }
  json.end_object();
  return text;
}

}  // namespace koord::scheduling::device_share
