// CleanUp: --cleanup: what agents have left is set free, once.
#pragma once

#include "framework/executor/executor.hpp"
#include "framework/qos/manager.hpp"
#include "framework/states/states.hpp"
#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/event_recorder.hpp"

namespace koord::koordlet {

class CleanUp {
 public:
  /// All outlive it.
  struct Parts {
    asio::any_io_executor executor;
    Clock& clock;
    Logger log;
    QosManager& qos;
    Executor& writing;
    const InventoryHub& hub;      // what `states` publish in
    States* states;               // null: there is nobody to ask whose CPUs are whose
    kube::EventRecorder* events;  // of `states`; may be null
  };
  explicit CleanUp(Parts parts) : parts_(std::move(parts)) {}

  /// `inventory` is where pods' groups are, as far as that is known before anybody is asked. `force`: sets of
  /// CPUs are widened although nobody said which CPUs are exclusively somebody's; a warning names the groups.
  /// How many files were written. The error is the executor's; nobody's answer is none.
  Task<Result<std::size_t>> run(Inventory inventory, bool force);
  /// The same for a standalone configuration, whose inventory is whole: nobody is asked.
  Task<Result<std::size_t>> free_all(const Inventory& inventory);

 private:
  Task<Result<>> ask_kubelet(Inventory& inventory);
  void widen_unknown(Inventory& inventory);

  Parts parts_;
};

}  // namespace koord::koordlet
