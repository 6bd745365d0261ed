// Keeper: writes the store down, now and then, where it has changed.
#pragma once

#include <string>

#include "koord/async/offload.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "store/store.hpp"

namespace koord::proxy {

/// On the store's thread; the file is made on another.
class Keeper {
 public:
  Keeper(Store& store, std::string path, Clock& clock, WorkerPool& workers, Logger log)
      : store_(store), path_(std::move(path)), clock_(clock), workers_(workers), log_(std::move(log)) {}

  /// What was kept, into the store, which is empty. A file that cannot be used is named in the log, and all
  /// it had is asked of the back end.
  void load();
  /// A second or two after each change; until it is cancelled, which writes what is left.
  Task<Result<>> run();

 private:
  Task<> save();

  Store& store_;
  std::string path_;
  Clock& clock_;
  WorkerPool& workers_;
  Logger log_;
  std::uint64_t saved_ = 0;  // the store's changes() then
  bool failing_ = false;
};

}  // namespace koord::proxy
