// Classes of control groups in cgroup v1: net_cls.classid of a pod's group and of those below it. What is
// koord's is known by its major; others' classes stay.
#pragma once

#include <map>
#include <set>
#include <string>

#include "koord/base/result.hpp"
#include "koord/host/traffic_control.hpp"

namespace koord::koordlet::tc_network {

/// Blocks for as long as the kernel takes; one thread at a time.
class ClassFiles {
 public:
  /// `folder` is where the hierarchy is mounted.
  explicit ClassFiles(std::string folder) : folder_(std::move(folder)) {}

  struct State {
    std::map<std::string, host::TcHandle> groups;  // that have a class of koord's
    std::set<std::string> absent;                  // wanted ones that are not there
  };
  /// A wanted group counts as having its class if all groups below it have it, too, or somebody else's.
  /// Code::not_found: the hierarchy is not mounted there.
  Result<State> read(const std::map<std::string, host::TcHandle>& wanted);
  /// The group and all below it that have none of somebody else's. Code::not_found: there is no such group.
  Result<> put(const std::string& group, host::TcHandle of_class);
  /// Those of koord's have none afterwards. A group that is not there has none.
  Result<> forget(const std::string& group);

 private:
  std::string folder_;
};

}  // namespace koord::koordlet::tc_network
