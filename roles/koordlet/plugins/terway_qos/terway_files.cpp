// Keeping Terway's files: see terway_files.hpp.
#include "plugins/terway_qos/terway_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <utility>

#include "koord/async/timer.hpp"
#include "koord/base/file.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet::terway_qos {
namespace {

/// Files that somebody else has changed or removed are put right again so often.
constexpr nanoseconds kLookAgain = std::chrono::minutes(1);
constexpr std::size_t kMaxFile = std::size_t{64} << 20;
constexpr unsigned kReadable = 0644, kFolder = 0755;

std::string path_of(const std::string& folder, std::string_view file) {
  return fmt::format("{}/{}", folder, file);
}

Result<bool> put(const std::string& path, const std::string& text) {
  if (const auto before = read_file(path, kMaxFile); before && *before == text) return false;
  // A torn file after a crash of the machine is written again by the agent that starts then.
  KOORD_CHECK(replace_file(path, text, {.mode = kReadable, .sync = false}));
  return true;
}

Result<bool> take(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return errno_error(errno, path);
}

}  // namespace

std::string folder_of(const host::Root& root) { return fmt::format("{}terway/qos", root.var_lib); }

Result<bool> remove(const std::string& folder) {
  KOORD_TRY(pods, take(path_of(folder, kPodsFile)));
  KOORD_TRY(node, take(path_of(folder, kNodeFile)));
  return pods || node;
}

Result<bool> keep(const std::string& folder, const Texts& texts) {
  if (!texts.wanted) return remove(folder);
  if (!host::exists(folder)) {
    const std::string above = folder.substr(0, folder.rfind('/'));
    if (::mkdir(above.c_str(), kFolder) != 0 && errno != EEXIST) return errno_error(errno, above);
    if (::mkdir(folder.c_str(), kFolder) != 0 && errno != EEXIST) return errno_error(errno, folder);
  }
  // Who reads that a pod has a class finds the class.
  KOORD_TRY(node, put(path_of(folder, kNodeFile), texts.node));
  KOORD_TRY(pods, put(path_of(folder, kPodsFile), texts.pods));
  return node || pods;
}

TerwayFiles::TerwayFiles(Parts parts, std::string folder) : parts_(parts), folder_(std::move(folder)) {
  parts_.hub.listen([this](const std::shared_ptr<const Inventory>&) { changed_.set(); });
}

void TerwayFiles::tell(const std::string& what) {
  if (what == std::exchange(told_, what) || what.empty()) return;
  parts_.log.warn("what Terway is told of the network stays as it was, in part", kv("folder", folder_),
                  kv("error", what));
}

Task<Result<>> TerwayFiles::follow() {
  std::string wrong;
  auto texts = texts_of(*parts_.hub.current(), wrong);
  if (!texts) {
    tell(wrong);
    co_return Result<>();
  }
  if (!texts->warnings.empty()) wrong = texts->warnings.front();
  std::function<Result<bool>()> work = [this, &texts] { return keep(folder_, *texts); };
  const auto kept = co_await offload(parts_.workers, std::move(work));
  if (!kept && kept.error().code() == Code::cancelled) co_return kept.error();
  if (!kept) wrong = kept.error().message();
  tell(wrong);
  if (kept && *kept)
    parts_.log.v(1, "Terway's files have changed", kv("folder", folder_), kv("wanted", texts->wanted));
  co_return Result<>();
}

Task<Result<>> TerwayFiles::run() {
  for (;;) {
    changed_.reset();
    KOORD_CO_CHECK(co_await follow());
    Task<Result<>> woken = changed_.wait();
    const Result<> waited = co_await with_timeout(parts_.clock, kLookAgain, std::move(woken));
    if (!waited && waited.error().code() != Code::timeout) co_return waited;
  }
}

}  // namespace koord::koordlet::terway_qos
