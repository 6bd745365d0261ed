// The way back from the threads: closed when nobody waits any more.
#include "framework/executor/threaded_files.hpp"

#include <boost/asio/post.hpp>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "koord/host/file.hpp"

namespace koord::koordlet {

struct ThreadedFiles::Way {
  std::mutex mutex;
  std::optional<boost::asio::any_io_executor> loop;  // under the mutex; nothing: closed
};

ThreadedFiles::ThreadedFiles(boost::asio::any_io_executor loop) : way_(std::make_shared<Way>()) {
  way_->loop = std::move(loop);
}

ThreadedFiles::~ThreadedFiles() {
  const std::lock_guard lock(way_->mutex);
  way_->loop.reset();
}

void ThreadedFiles::write_later(const std::string& path, std::string_view text, Done done) {
  // Shared, so that the function is still there to be called if no thread can be had.
  auto answer = std::make_shared<Done>(std::move(done));
  auto work = [way = way_, answer, path, text = std::string(text)]() mutable {
    Result<> written = host::write_file(path, text);
    const std::lock_guard lock(way->mutex);
    if (!way->loop) return;
    boost::asio::post(*way->loop,
                      [answer = std::move(answer), written = std::move(written)] { (*answer)(written); });
  };
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    (*answer)(Error(Code::unavailable, "no thread can be started for the write"));
  }
}

}  // namespace koord::koordlet
