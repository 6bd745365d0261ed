// Keeping: see keeper.hpp.
#include "store/keeper.hpp"

#include "koord/async/timer.hpp"
#include "store/own_file.hpp"
#include "store/store_text.hpp"

namespace koord::proxy {

namespace {

/// A crash loses no more than this, which is asked of the back end again.
constexpr nanoseconds kPause = std::chrono::seconds(1);

}  // namespace

void Keeper::load() {
  const auto text = read_own_file(path_, kMostStoreText);
  if (!text) {
    if (text.error().code() != Code::not_found)
      log_.warn("the store's file cannot be read: the back end is asked",
                kv("error", text.error().message()));
    return;
  }
  if (const auto read = read_store(*text, store_); !read)
    log_.warn("the store's file cannot be used: the back end is asked", kv("file", path_),
              kv("error", read.error().message()));
  else
    log_.info("the store was read", kv("pods", store_.pods()), kv("containers", store_.containers()));
  saved_ = store_.changes();
}

Task<> Keeper::save() {
  if (saved_ == store_.changes()) co_return;
  saved_ = store_.changes();
  const auto done = co_await offload(workers_, [kept = store_.all(), path = path_]() -> Result<> {
    return write_own_file(path, store_text(kept));
  });
  if (!done && !failing_) log_.warn("the store cannot be kept", kv("error", done.error().message()));
  failing_ = !done;
  if (!done) saved_ = 0;
}

Task<Result<>> Keeper::run() {
  const auto often = [](Keeper& self) -> Task<Result<>> {
    for (;;) {
      KOORD_CO_CHECK(co_await sleep(self.clock_, kPause));
      co_await self.save();
    }
  };
  co_return co_await with_cleanup(often(*this), save());
}

}  // namespace koord::proxy
