// The parts that NRI's messages share: pods, containers, resources, updates, from and to protobuf.
#pragma once

#include <string_view>

#include "koord/rpc/nri.hpp"
#include "nri.pb.h"

namespace koord::rpc::nri {

namespace wire = koord::proto::nri;

Pod pod_of(wire::PodSandbox&& from);
Container container_of(wire::Container&& from);
Container container_of(wire::ContainerState&& from);
Resources resources_of(wire::LinuxResources&& from);
Update update_of(wire::ContainerUpdate&& from);
Adjustment adjustment_of(wire::ContainerAdjustment&& from);

void put(const Pod& pod, wire::PodSandbox& to);
void put(const Container& container, wire::Container& to);
void put(const Container& container, wire::ContainerState& to);
void put(const Resources& resources, wire::LinuxResources& to);
void put(const Update& update, wire::ContainerUpdate& to);
void put(const Adjustment& adjustment, wire::ContainerAdjustment& to);

}  // namespace koord::rpc::nri
