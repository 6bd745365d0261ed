// Whether a hook's answer is one that a runtime can be told, before it is laid over what was asked.
#pragma once

#include "koord/base/result.hpp"
#include "koord/rpc/hooks.hpp"

namespace koord::proxy {

namespace hooks = rpc::hooks;

/// Ok, or Code::invalid with the field and what was expected of it: a cgroup parent that leads out of its
/// place, CPUs that are no list, names that are more than a name. What the answer only repeats of `asked` is
/// not looked at. No value of the environment is in a message.
Result<> check_answer(const hooks::PodRequest& asked, const hooks::PodResponse& said);
Result<> check_answer(const hooks::ContainerRequest& asked, const hooks::ContainerResponse& said);

}  // namespace koord::proxy
