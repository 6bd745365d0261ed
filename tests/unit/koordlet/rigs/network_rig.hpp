// What tests of the host's network say of a node: its NodeSLO, its pods, and what follows from them.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/api/koordinator/pod_io.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins/tc_network/wanted.hpp"

namespace koord::koordlet::tc_network {

inline std::shared_ptr<const api::NodeSloSpec> slo_of(std::string_view json) {
  auto spec = api::decode<api::NodeSloSpec>(json);
  REQUIRE(spec.has_value());
  return std::make_shared<const api::NodeSloSpec>(std::move(*spec));
}

/// Of 100 Mbit/s LS is guaranteed 40% and BE 10%, at most 20M.
inline constexpr std::string_view kBoth = R"({"resourceQOSStrategy":{"policies":{"netQOSPolicy":"tc"},
  "lsClass":{"networkQOS":{"enable":true,"egressRequest":40,"egressLimit":100}},
  "beClass":{"networkQOS":{"enable":true,"egressRequest":10,"egressLimit":"20M"}}},
  "systemStrategy":{"totalNetworkBandwidth":"100M"}})";

struct Said {
  std::string uid, qos, address, annotation;
  bool host_network = false;
};
inline std::shared_ptr<const PodInfo> pod_of(const Said& said) {
  auto object = std::make_shared<api::Pod>();
  if (!said.qos.empty()) object->metadata.labels["koordinator.sh/qosClass"] = Symbol(said.qos);
  if (!said.annotation.empty())
    object->metadata.annotations[api::PodNetworkQos::kAnnotation] = Symbol(said.annotation);
  object->spec.host_network = said.host_network;
  object->status.host_ip = Symbol("192.168.0.100");
  object->status.pod_ip = Symbol(said.address);
  auto pod = std::make_shared<PodInfo>();
  pod->uid = pod->name = said.uid;
  pod->ns = "default";
  pod->group = "kubepods/pod" + said.uid;
  pod->object = std::move(object);
  return pod;
}
inline Inventory node_of(std::string_view slo, const std::vector<Said>& pods = {}) {
  Inventory inventory;
  inventory.slo_known = inventory.pods_known = true;
  inventory.slo = slo_of(slo);
  for (const Said& pod : pods) inventory.all_pods.push_back(pod_of(pod));
  return inventory;
}
inline Wanted wanted(const Inventory& inventory) {
  std::string error;
  auto all = wanted_of(inventory, error);
  INFO(error);
  REQUIRE(all.has_value());
  return std::move(*all);
}
inline host::IpAddress address(std::string_view text) { return *host::parse_address(text); }
inline const host::HtbClass* find(const std::vector<host::HtbClass>& classes, host::TcHandle handle) {
  const auto it = std::ranges::find(classes, handle, &host::HtbClass::handle);
  return it == classes.end() ? nullptr : &*it;
}

}  // namespace koord::koordlet::tc_network
