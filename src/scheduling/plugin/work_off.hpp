// work_off: what the controllers of plugins do with the keys of objects that are to be looked at.
#pragma once

#include <utility>

#include "koord/async/task.hpp"
#include "koord/base/error.hpp"
#include "koord/kube/work_queue.hpp"

namespace koord::scheduling {

/// One of several workers: `look(key)` (a Task<Result<>>) for each key that is due, until the queue ends or
/// looking is cancelled. What fails comes again with the key's backoff, and `failed(key, error)` tells of it,
/// but of a conflict: that is somebody's write that has not come here yet. The queue outlives it.
template <class Key, class Hash, class Look, class Failed>
Task<Result<>> work_off(kube::WorkQueue<Key, Hash>& work, Look look, Failed failed) {
  for (;;) {
    KOORD_CO_TRY(next, co_await work.next());
    if (!next) co_return Result<>();
    const Result<> done = co_await look(*next);
    if (done) {
      work.forget(*next);
    } else if (done.error().code() == Code::cancelled) {
      co_return done;
    } else {
      if (done.error().code() != Code::conflict) failed(*next, done.error());
      work.retry(*next);
    }
    work.done(*next);
  }
}

}  // namespace koord::scheduling
