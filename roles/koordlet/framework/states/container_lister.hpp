// ContainerLister: says which containers run, by the runtime's own word.
#pragma once

#include <string>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// One that runs, by the labels that the kubelet gave it. Nothing of it has been checked.
struct StartedContainer {
  std::string pod_uid, name;
  std::string full_id;  // "containerd://5e2f..."
  friend auto operator<=>(const StartedContainer&, const StartedContainer&) = default;
};

/// On the event loop's thread.
class ContainerLister {
 public:
  virtual ~ContainerLister() = default;
  /// Code::unsupported: there is no runtime that could be asked; Code::timeout: it has not answered within
  /// `within`.
  virtual Task<Result<std::vector<StartedContainer>>> started(nanoseconds within) = 0;
};

}  // namespace koord::koordlet
