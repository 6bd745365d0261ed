// What the verbose part of a status tells beside the interface's own fields: JSON of containerd's or CRI-O's.
#pragma once

#include <string_view>

#include "fields.hpp"
#include "koord/rpc/cri.hpp"

namespace koord::rpc::cri {

/// Empty where it is not told, or cannot be read.
std::string cgroup_parent_of(const Entries& info);
/// What is not there in `details` already, as far as it is told.
void add_details(const Entries& info, ContainerDetails& details);

}  // namespace koord::rpc::cri
