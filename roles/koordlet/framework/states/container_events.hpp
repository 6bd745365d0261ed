// ContainerEvents: that pods or containers have come or gone, known at once from the cgroup folders; and that
// the kubelet has resized one in place, from its own folder.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "koord/async/file_watch.hpp"
#include "koord/host/cgroup_fs.hpp"

namespace koord::koordlet {

/// Watches the folders of the QoS classes and of each pod. The event loop's thread.
class ContainerEvents {
 public:
  /// `changed` is called once for each burst of changes. The cgroups outlive this.
  ContainerEvents(boost::asio::any_io_executor executor, const host::CgroupFs& cgroups,
                  std::function<void()> changed);

  /// Begins to watch what is there and not yet watched: the kubelet may make its folders later. An error says
  /// why nothing or not everything is watched; what is missed is found when the kubelet is asked next.
  Result<> watch(host::CgroupDriver driver, std::string_view kubelet_root = {});
  /// Begins to watch the kubelet's folder, if it is there: what it writes down of containers' resources and
  /// of CPUs that it gives out. Without it a resize is found when the kubelet is asked next.
  Result<> watch_kubelet(std::string_view folder);
  /// How many folders of pods there are; -1: not known.
  int pod_folders() const;
  /// Hands events on until it is cancelled.
  Task<Result<>> run();
  /// What run() does with some.
  void take(const std::vector<FileEvent>& events);

 private:
  enum class Holds : std::uint8_t { pods, containers, checkpoints };
  Result<> add(const std::string& folder, Holds holds);
  Result<> add_pods(const std::string& folder);
  /// Finds out what came and went while nobody was told.
  void look_again();

  boost::asio::any_io_executor executor_;
  const host::CgroupFs& cgroups_;
  std::function<void()> changed_;
  std::optional<FileWatch> files_;
  struct Folder {
    std::string path;
    Holds holds{};
  };
  std::map<int, Folder> folders_;
  std::map<std::string, int, std::less<>> watches_;  // by path
};

}  // namespace koord::koordlet
