// Keeping Terway's files: see terway_files.hpp.
#include "plugins/terway_qos/terway_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <utility>

#include "koord/base/file.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet::terway_qos {
namespace {

/// Files that somebody else has changed or removed are put right again so often.
constexpr nanoseconds kLookAgain = std::chrono::minutes(1);
constexpr std::size_t kMaxFile = std::size_t{64} << 20;
constexpr BootFile::Kind kMark{.header = "koord-terway 1 ",
                               .what = "a mark of Terway's files",
                               .row = "row",
                               .max_size = 4096,
                               .max_rows = 0};
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
  // A file system that cannot be written refuses also to remove what is not there.
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && ::unlink(path.c_str()) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return errno_error(errno, path);
}

bool is_marked(const BootFile::Place& mark) {
  for (const std::string& older : mark.older)
    if (host::exists(older)) return true;
  return !mark.path.empty() && host::exists(mark.path);
}

}  // namespace

std::string folder_of(const host::Root& root) { return fmt::format("{}terway/qos", root.var_lib); }

Result<bool> remove(const std::string& folder) {
  KOORD_TRY(pods, take(path_of(folder, kPodsFile)));
  KOORD_TRY(node, take(path_of(folder, kNodeFile)));
  return pods || node;
}

BootFile::Place mark_at(BootFile::Place place) {
  place.boot_id.clear();  // the files outlast the boot
  return place;
}

Result<bool> withdraw(const std::string& folder, const BootFile::Place& mark) {
  const std::string above = folder.substr(0, folder.rfind('/', folder.rfind('/') - 1));
  if (!is_marked(mark) || !host::exists(above)) return false;
  KOORD_TRY(gone, remove(folder));
  KOORD_CHECK(BootFile(kMark, mark).remove());
  return gone;
}

Result<bool> keep(const std::string& folder, const Texts& texts, const BootFile::Place& mark) {
  if (!texts.wanted) {
    KOORD_TRY(gone, remove(folder));
    if (is_marked(mark)) KOORD_CHECK(BootFile(kMark, mark).remove());
    return gone;
  }
  if (!host::exists(folder)) {
    const std::string above = folder.substr(0, folder.rfind('/'));
    if (::mkdir(above.c_str(), kFolder) != 0 && errno != EEXIST) return errno_error(errno, above);
    if (::mkdir(folder.c_str(), kFolder) != 0 && errno != EEXIST) return errno_error(errno, folder);
  }
  if (!is_marked(mark)) KOORD_CHECK(BootFile(kMark, mark).save({}));
  // Who reads that a pod has a class finds the class.
  KOORD_TRY(node, put(path_of(folder, kNodeFile), texts.node));
  KOORD_TRY(pods, put(path_of(folder, kPodsFile), texts.pods));
  return node || pods;
}

TerwayFiles::TerwayFiles(Parts parts, std::string folder, BootFile::Place mark)
    : parts_(parts), folder_(std::move(folder)), mark_(std::move(mark)) {
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
  std::function<Result<bool>()> work = [this, &texts] { return keep(folder_, *texts, mark_); };
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
    KOORD_CO_CHECK(co_await changed_.wait_for(parts_.clock, kLookAgain));
  }
}

}  // namespace koord::koordlet::terway_qos
