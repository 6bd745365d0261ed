// Store: the sandboxes and containers that there are, as hooks have made them; what later calls, which name
// an id alone, are asked with. A plain state.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/rpc/cri.hpp"
#include "koord/rpc/hooks.hpp"

namespace koord::proxy {

struct PodEntry {
  rpc::hooks::PodRequest pod;
  bool stopped = false;  // by a StopPodSandbox: hooks have been told
  friend bool operator==(const PodEntry&, const PodEntry&) = default;
};
struct ContainerEntry {
  std::string sandbox;
  rpc::hooks::ContainerMeta meta;
  rpc::hooks::Map annotations;
  std::optional<rpc::hooks::Resources> resources;  // nothing: not known
  std::string pod_cgroup_parent;
  std::optional<rpc::hooks::Map> env;  // nothing: not known. Secret: never on a disk, never in a log
  bool stopped = false;
  friend bool operator==(const ContainerEntry&, const ContainerEntry&) = default;
};
using PodPtr = std::shared_ptr<const PodEntry>;
using ContainerPtr = std::shared_ptr<const ContainerEntry>;

/// What hooks are asked with about a container that there is; `pod` may be null.
rpc::hooks::ContainerRequest request_of(const ContainerEntry& container, const PodEntry* pod);
/// What they said about it, taken over.
void take(ContainerEntry& container, rpc::hooks::ContainerRequest said);

class Store {
 public:
  /// More of either, or of their bytes, are not kept, and asked of the back end when they are needed.
  static constexpr std::size_t kMostPods = 4096, kMostContainers = 16384, kMostBytes = std::size_t{64} << 20;

  PodPtr pod(std::string_view id) const;
  ContainerPtr container(std::string_view id) const;

  /// False: there is no room. An id longer than 256 bytes, or none, is not kept either.
  bool put(std::string_view id, PodEntry entry);
  bool put(std::string_view id, ContainerEntry entry);
  /// Unless it has been removed meanwhile.
  void replace(std::string_view id, PodEntry entry);
  void replace(std::string_view id, ContainerEntry entry);
  void remove_pod(std::string_view id);  // with its containers
  void remove_container(std::string_view id);

  /// Grows with each change.
  std::uint64_t changes() const { return changes_; }
  std::size_t pods() const { return pods_.size(); }
  std::size_t containers() const { return containers_.size(); }
  std::size_t bytes() const { return bytes_; }

  struct Missing {
    std::vector<rpc::cri::ListedSandbox> pods;
    std::vector<rpc::cri::ListedContainer> containers;
  };
  /// Forgets what the back end does not list, but for what came after it was asked, when changes() was
  /// `began`; returns what it lists and is not known.
  Missing reconcile(std::vector<rpc::cri::ListedSandbox> pods,
                    std::vector<rpc::cri::ListedContainer> containers, std::uint64_t began);

  /// All entries, for who writes them down elsewhere.
  struct Kept {
    std::vector<std::pair<std::string, PodPtr>> pods;
    std::vector<std::pair<std::string, ContainerPtr>> containers;
  };
  Kept all() const;

 private:
  template <class Entry>
  struct Row {
    std::shared_ptr<const Entry> entry;
    std::size_t bytes = 0;
    std::uint64_t born = 0;
  };
  template <class Entry>
  using Rows = std::map<std::string, Row<Entry>, std::less<>>;
  template <class Entry>
  bool put(Rows<Entry>& rows, std::size_t most, std::string_view id, Entry entry);
  template <class Entry>
  void erase(Rows<Entry>& rows, typename Rows<Entry>::iterator at);

  Rows<PodEntry> pods_;
  Rows<ContainerEntry> containers_;
  std::size_t bytes_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace koord::proxy
