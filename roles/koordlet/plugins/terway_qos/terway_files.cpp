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
constexpr int kAuditVerbosity = 3;
constexpr std::string_view kAuditReason = "TerwayQoS";

std::string path_of(const std::string& folder, std::string_view file) {
  return fmt::format("{}/{}", folder, file);
}

Result<> put(const std::string& path, const std::string& text, Round& round) {
  if (const auto before = read_file(path, kMaxFile); before && *before == text) return {};
  // A torn file after a crash of the machine is written again by the agent that starts then.
  KOORD_CHECK(replace_file(path, text, {.mode = kReadable, .sync = false}));
  round.done.push_back(fmt::format("{} written", path));
  return {};
}

Result<> take(const std::string& path, Round& round) {
  // A file system that cannot be written refuses also to remove what is not there.
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && ::unlink(path.c_str()) == 0) {
    round.done.push_back(fmt::format("{} removed", path));
    return {};
  }
  if (errno == ENOENT || errno == ENOTDIR) return {};
  return errno_error(errno, path);
}

bool is_marked(const BootFile::Place& mark) {
  for (const std::string& older : mark.older)
    if (host::exists(older)) return true;
  return !mark.path.empty() && host::exists(mark.path);
}

Result<> remove_both(const std::string& folder, Round& round) {
  KOORD_CHECK(take(path_of(folder, kPodsFile), round));
  return take(path_of(folder, kNodeFile), round);
}

Result<> keep_both(const std::string& folder, const Texts& texts, const BootFile::Place& mark, Round& round) {
  if (!texts.wanted) {
    KOORD_CHECK(remove_both(folder, round));
    if (is_marked(mark)) KOORD_CHECK(BootFile(kMark, mark).remove());
    return {};
  }
  if (!host::exists(folder)) {
    const std::string above = folder.substr(0, folder.rfind('/'));
    if (::mkdir(above.c_str(), kFolder) != 0 && errno != EEXIST) return errno_error(errno, above);
    if (::mkdir(folder.c_str(), kFolder) != 0 && errno != EEXIST) return errno_error(errno, folder);
  }
  if (!is_marked(mark)) KOORD_CHECK(BootFile(kMark, mark).save({}));
  // Who reads that a pod has a class finds the class.
  KOORD_CHECK(put(path_of(folder, kNodeFile), texts.node, round));
  return put(path_of(folder, kPodsFile), texts.pods, round);
}

Round ended(Round round, const Result<>& result) {
  if (!result) round.wrong = result.error().message();
  return round;
}

}  // namespace

std::string folder_of(const host::Root& root) { return fmt::format("{}terway/qos", root.var_lib); }

Round remove(const std::string& folder) {
  Round round;
  const auto removed = remove_both(folder, round);
  return ended(std::move(round), removed);
}

BootFile::Place mark_at(BootFile::Place place) {
  place.boot_id.clear();  // the files outlast the boot
  return place;
}

Round withdraw(const std::string& folder, const BootFile::Place& mark) {
  const std::string above = folder.substr(0, folder.rfind('/', folder.rfind('/') - 1));
  if (!is_marked(mark) || !host::exists(above)) return {};
  return keep(folder, {}, mark);
}

Round keep(const std::string& folder, const Texts& texts, const BootFile::Place& mark) {
  Round round;
  const auto kept = keep_both(folder, texts, mark, round);
  return ended(std::move(round), kept);
}

void audit(Auditor* auditor, const Round& round) {
  if (auditor == nullptr) return;
  for (const std::string& change : round.done)
    auditor->record(kAuditVerbosity, {"node", "", "", "", kAuditReason, change});
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
  std::function<Result<Round>()> work = [this, &texts]() -> Result<Round> {
    return keep(folder_, *texts, mark_);
  };
  KOORD_CO_TRY(round, co_await offload(parts_.workers, std::move(work)));
  if (!round.wrong.empty()) wrong = std::move(round.wrong);
  tell(wrong);
  audit(parts_.auditor, round);
  if (!round.done.empty())
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
