// The way of today's nodes: a kubelet and a runtime that speak the CRI, gRPC on unix sockets.
#pragma once

#include <memory>

#include "mode/mode.hpp"

namespace koord::proxy {

std::unique_ptr<Mode> make_cri_mode(const ModeParts& parts);

}  // namespace koord::proxy
