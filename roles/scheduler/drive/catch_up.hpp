// What a new leader waits for before its first decision: the last decisions of the leader before.
#pragma once

#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/informer.hpp"

namespace koord::scheduler {

/// Waits until the informers know all that the API server had when this began: who led before may have given
/// away a node's room a moment ago. Requests that fail are tried again. When `limit` has passed it returns
/// all the same, with a warning that names who is behind. Else Error(Code::cancelled).
Task<Result<>> catch_up(Clock& clock, Logger log, std::vector<kube::AnyInformer> informers,
                        nanoseconds limit);

}  // namespace koord::scheduler
