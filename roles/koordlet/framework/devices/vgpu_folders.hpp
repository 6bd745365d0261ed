// VgpuFolders: the host's folders in which HAMi-core keeps what containers use of GPUs, one a container.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/file.hpp"
#include "koord/host/nvidia/vgpu_region.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// The folder of HAMi-core's library, which containers see as theirs, and in which the host has all of them.
/// Empty: a folder that others need too, as /usr/lib, which must not be hidden from a container.
std::string vgpu_home(std::string_view library);
/// "UID_CONTAINER", as HAMi and upstream name it; empty: one of both is no name of Kubernetes'.
std::string vgpu_folder_name(std::string_view pod_uid, std::string_view container);

/// What containers write in theirs is anything: nothing is followed, mapped or waited for. Its functions
/// block.
class VgpuFolders {
 public:
  /// The host's files are seen through its first process.
  VgpuFolders(const host::Root& root, std::string_view library);

  /// On the host: "/usr/local/vgpu/containers".
  std::string folder() const;
  /// Makes a container's, for all to write, without what an earlier container of that name has kept in it.
  /// The folder above is root's alone: programs that a container puts there are out of reach of the host's
  /// users.
  Result<> make(std::string_view name) const;
  /// What HAMi-core keeps there. Code::not_found: nothing (yet). Errors name the folder, and no file in it:
  /// those are called as the container likes.
  Result<host::VgpuRegion> read(std::string_view name) const;
  /// Takes away those of pods that `is_there` does not know, once nobody has used them for five minutes. What
  /// is not named after a pod's UID and a container stays, as does one in which a container has made folders.
  /// Gives the names of those that it took.
  std::vector<std::string> sweep(const std::function<bool(std::string_view pod_uid)>& is_there,
                                 WallTime now) const;

 private:
  Result<Fd> open(std::string_view path, int flags) const;

  std::string host_, home_;
};

}  // namespace koord::koordlet
