// Lists a cluster once, page by page, into an engine that decides nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/scheduling/engine/engine.hpp"

namespace koord {
class WorkerPool;
}

namespace koord::view {

/// The event loop's thread, on which the engine lives here, too; with `workers` what came is decoded and
/// given to the engine on one of theirs, and the engine is nobody's meanwhile.
class ClusterLists {
 public:
  /// What is listed, so many, of so many (0: nobody knows).
  using Progress = std::function<void(std::string_view what, std::size_t done, std::size_t all)>;
  ClusterLists(kube::Client& client, scheduling::Engine& engine, Progress progress,
               WorkerPool* workers = nullptr)
      : client_(client), engine_(engine), progress_(std::move(progress)), workers_(workers) {}

  /// Nodes, pods that have not ended, and what the engine's plugins watch. Nodes and pods must be readable;
  /// of others what cannot be read is named in notes().
  Task<Result<>> read();
  /// The same without nodes and pods, for who has given those to the engine.
  Task<Result<>> read_others();

  /// The pods that wait for a node.
  const std::vector<std::shared_ptr<const api::Pod>>& waiting() const { return waiting_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  using Take = std::function<void(kube::Object)>;
  Task<Result<>> list(const kube::ObjectType& type, kube::Scope scope, Take take);
  Task<Result<>> pages(const kube::ObjectType& type, const kube::Scope& scope, const Take& take);

  kube::Client& client_;
  scheduling::Engine& engine_;
  Progress progress_;
  WorkerPool* workers_;
  std::vector<std::shared_ptr<const api::Pod>> waiting_;
  std::vector<std::string> notes_;
};

}  // namespace koord::view
