// ContainerStopper: has a container stopped by its runtime.
#pragma once

#include "framework/model/inventory.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// On the event loop's thread.
class ContainerStopper {
 public:
  virtual ~ContainerStopper() = default;
  /// Kills it at once. Code::not_found: the runtime has none of this id; Code::unsupported: there is no
  /// runtime that could be asked; Code::timeout: it has not answered within `within`.
  virtual Task<Result<>> stop(const ContainerInfo& container, nanoseconds within) = 0;
};

}  // namespace koord::koordlet
