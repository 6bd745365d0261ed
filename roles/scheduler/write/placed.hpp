// Placed: what a decision is about, as the API server knows it: a pod, or the object that it stands for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "koord/async/task.hpp"
#include "koord/base/result.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "koord/scheduling/plugin/placed_kind.hpp"
#include "write/writer_services.hpp"

namespace koord::scheduler {

/// Of the moment at which it was made.
class Placed {
 public:
  /// The engine's pod; its name outlives it.
  Placed(const WriterServices& role, const api::Pod& pod);

  const scheduling::PlacedKind& kind() const { return *kind_; }
  bool is_pod() const;
  const scheduling::PlacedName& name() const { return name_; }
  kube::ObjectKey key() const { return {std::string(name_.ns), std::string(name_.name)}; }
  /// nullptr: it is gone, or another one has its name.
  const kube::Object& now() const { return now_; }
  /// The same as the engine has it. nullptr: it wants no place any more, either.
  std::shared_ptr<const api::Pod> pod() const { return now_ ? kind_->as_pod(now_) : nullptr; }
  bool is_going() const;

 private:
  const scheduling::PlacedKind* kind_;
  scheduling::PlacedName name_;
  kube::Object now_;
};

/// For events about it; views into the pod.
kube::EventObject event_object(const WriterServices& role, const api::Pod& pod);

/// What plugins' work on a pod is run with.
scheduling::PreBindWork::Context work_context(const WriterParts& parts, std::shared_ptr<const api::Pod> pod,
                                              Symbol node = {});

/// Tells a pod, or the object that it stands for, what `told` says of it as it is now; nothing to tell is a
/// success. A pod is told once; an object again where it has changed since.
Task<Result<>> tell(
    const WriterParts& parts, std::shared_ptr<const api::Pod> pod,
    std::function<std::optional<scheduling::ObjectPatch>(const scheduling::PlacedKind&, const void* now)>
        told);

}  // namespace koord::scheduler
