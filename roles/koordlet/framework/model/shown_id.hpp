// How a container is called in metrics: as Kubernetes calls it.
#pragma once

#include <string>

#include "framework/model/inventory.hpp"

namespace koord::koordlet {

/// "containerd://ID", as the original's metrics have it; the bare one where no runtime has said more.
inline const std::string& shown_id(const ContainerInfo& container) {
  return container.full_id.empty() ? container.id : container.full_id;
}

}  // namespace koord::koordlet
