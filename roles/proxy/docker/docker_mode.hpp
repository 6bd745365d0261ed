// The way of older nodes: a kubelet that speaks Docker's HTTP on a unix socket.
#pragma once

#include <memory>

#include "mode/mode.hpp"

namespace koord::proxy::docker {

std::unique_ptr<Mode> make_mode(const ModeParts& parts);

}  // namespace koord::proxy::docker
