// StartedContainers: containers that run by their runtime's word, of pods that the kubelet has told of
// without them: its status comes a second after a start, and later where it is busy.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/states/container_lister.hpp"
#include "koord/base/clock.hpp"

namespace koord::koordlet {

/// It adds to pods and takes nothing away: whose CPUs are whose, and what a pod asks for, is the kubelet's
/// alone. Without sockets; on the event loop's thread.
class StartedContainers {
 public:
  /// Of more, those beyond are left to the kubelet.
  static constexpr std::size_t kMost = 4096;
  /// For so long it is the kubelet's turn to tell; then the runtime is asked again.
  static constexpr nanoseconds kBehind = std::chrono::seconds(15);

  /// What runs. True: it is not what was told before.
  bool take(std::vector<StartedContainer> running, MonoTime now);
  /// Whether the kubelet still does not tell of some: whether these run has to be asked again. Without the
  /// runtime's word none goes, for what is not there any more is set free.
  bool is_old(MonoTime now) const;

  using Pods = std::vector<std::shared_ptr<const PodInfo>>;
  /// Puts them into the kubelet's pods, both ascending by uid: `pods` are those that run, `all` those that
  /// have not ended. A pod that stays as it was is the same object as in the last call.
  void add_to(Pods& pods, Pods& all, host::CgroupDriver driver, std::string_view kubelet_root,
              PodTermsReaders readers);

 private:
  struct Made {
    std::shared_ptr<const PodInfo> of, with;
    std::vector<StartedContainer> started;
  };
  std::vector<StartedContainer> running_;  // ascending
  MonoTime taken_{};
  std::map<std::string, Made, std::less<>> made_;  // by uid
};

}  // namespace koord::koordlet
