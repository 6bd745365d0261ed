// What pods ask of plugins that their profile does not have: see unserved.hpp.
#include "koord/scheduling/config/unserved.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/gang.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/koordinator/scheduling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/extension_point.hpp"

namespace koord::scheduling {

namespace {

constexpr std::string_view kDeviceAnnotations[] = {
    api::DeviceHints::kAnnotation, api::DeviceJointAllocate::kAnnotation, api::GpuPartitionSpec::kAnnotation};
/// nvidia.com/gpu and its like are the device plugin's, too.
constexpr std::string_view kDevices[] = {
    api::kGpu, api::kGpuShared, api::kGpuCore, api::kGpuMemory, api::kGpuMemoryRatio, api::kRdma, api::kFpga};

bool asks_for_gang(const api::Pod& pod) {
  return pod.metadata.labels.contains(api::kPodGroupLabel) ||
         pod.metadata.labels.contains(api::kGangNameLabel) ||
         pod.metadata.annotations.contains(api::kGangName);
}

bool asks_for_devices(const api::Pod& pod) {
  const auto named = [&](const std::vector<api::Container>& containers) {
    return std::any_of(containers.begin(), containers.end(), [](const api::Container& c) {
      return std::any_of(std::begin(kDevices), std::end(kDevices), [&](std::string_view resource) {
        return c.resources.requests.contains(resource) || c.resources.limits.contains(resource);
      });
    });
  };
  return std::any_of(std::begin(kDeviceAnnotations), std::end(kDeviceAnnotations),
                     [&](std::string_view key) { return pod.metadata.annotations.contains(key); }) ||
         named(pod.spec.containers) || named(pod.spec.init_containers);
}

bool asks_for_cpus(const api::Pod& pod) {
  const api::KoordQos qos = api::koord_qos(pod);
  return qos == api::KoordQos::lse || qos == api::KoordQos::lsr;
}

/// Which label, annotation or resource needs which plugin.
struct Need {
  std::string_view plugin, what;
  bool (*asks)(const api::Pod& pod);
  bool waits = true;  // false: it is told and bound, whoever is missing
};

constexpr Need kNeeds[] = {
    {"Coscheduling", "to be placed with its gang", &asks_for_gang},
    {"ElasticQuota", "to be counted in an ElasticQuota",
     [](const api::Pod& pod) { return pod.metadata.labels.contains(api::kQuotaNameLabel); }},
    {"Reservation", "for a reservation",
     [](const api::Pod& pod) {
       return pod.metadata.annotations.contains(api::ReservationAffinity::kAnnotation);
     }},
    {"NodeNUMAResource", "for NUMA nodes",
     [](const api::Pod& pod) {
       return pod.metadata.annotations.contains(api::NumaTopologySpec::kAnnotation);
     }},
    {"NodeNUMAResource", "for CPUs of its own (LSE or LSR)", &asks_for_cpus, false},
    {"DeviceShare", "for devices", &asks_for_devices},
    {"SchedulingHint", "for the nodes of its hint",
     [](const api::Pod& pod) { return pod.metadata.annotations.contains(api::kSchedulingHint); }},
};

bool is_missing(const Profile& profile, std::string_view plugin) {
  return std::find(profile.missing.begin(), profile.missing.end(), plugin) != profile.missing.end();
}

bool is_served(const Profile& profile, std::string_view plugin) {
  return std::any_of(profile.plugins.begin(), profile.plugins.end(),
                     [&](const Profile::Named& each) { return each.name == plugin; });
}

std::string sentence(const api::Pod& pod, const Need& row, bool missing) {
  return fmt::format("the {} asks {}, which is the plugin {}'s: {}", placed_name(pod).word, row.what,
                     row.plugin, missing ? "koord does not have it yet" : "the profile leaves it out");
}

/// A preparation and nothing else; nothing but the pod itself can change what it says.
class Refusal final : public Plugin, public PreFilterAlonePlugin, public EventPlugin {
 public:
  explicit Refusal(std::vector<const Need*> rows) : rows_(std::move(rows)) {}

  bool sign(const PodInfo& pod, Signature& signature) const override {
    std::int64_t asked = 0;
    for (const Need* row : rows_) asked = asked * 2 + (row->asks(*pod.pod) ? 1 : 0);
    signature.add(asked * 2 + (is_placeholder(*pod.pod) ? 1 : 0));
    return true;
  }
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    const Need* const row = refuses(*pod.pod);
    prepared.skip = row == nullptr;
    if (row != nullptr) prepared.rejected = sentence(*pod.pod, *row, true);
    return prepared;
  }
  EventMask events() const override { return events_of(EventKind::own_pod_label, EventKind::own_pod_update); }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent&) const override {
    return refuses(*pod.pod) == nullptr;
  }

 private:
  const Need* refuses(const api::Pod& pod) const {
    const auto row =
        std::find_if(rows_.begin(), rows_.end(), [&](const Need* each) { return each->asks(pod); });
    return row == rows_.end() ? nullptr : *row;
  }

  const std::vector<const Need*> rows_;
};

}  // namespace

std::string unserved(const Profile& profile, const api::Pod& pod) {
  std::string all;
  for (const Need& row : kNeeds) {
    if (!row.asks(pod)) continue;
    const bool missing = is_missing(profile, row.plugin);
    if (!missing && is_served(profile, row.plugin)) continue;
    all += fmt::format("{}{}", all.empty() ? "" : "; ", sentence(pod, row, missing));
  }
  return all;
}

void refuse_unserved(Profile& profile) {
  std::vector<const Need*> rows;
  for (const Need& row : kNeeds)
    if (row.waits && is_missing(profile, row.plugin)) rows.push_back(&row);
  if (rows.empty()) return;
  auto made = std::make_unique<Refusal>(std::move(rows));
  const Profile::Registration registered{static_cast<PluginIndex>(profile.plugins.size()), 0};
  profile.events.push_back({registered, made.get()});
  register_preparation(profile, *made, registered);
  profile.plugins.push_back({"Unserved", std::move(made)});
}

}  // namespace koord::scheduling
