// Idle page tracking: see idle_pages.hpp and the kernel's Documentation/admin-guide/mm/idle_page_tracking.
#include "collectors/cold_pages/idle_pages.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kMostZones = 4096, kFramesAgain = 300;
constexpr std::size_t kLargestFolio = 512;  // pages of it that are counted
constexpr int kDraws = 8;
constexpr std::uint64_t kMostFrames = std::uint64_t{1} << 40;
/// Of /proc/kpageflags.
constexpr std::uint64_t kOnList = 1ULL << 5, kSwapBacked = 1ULL << 14, kHead = 1ULL << 15, kTail = 1ULL << 16;

Result<Fd> open_file(const std::string& path, int how) {
  Fd fd(::open(path.c_str(), how | O_CLOEXEC));
  if (!fd) return errno_error(errno, path);
  return fd;
}

/// How many were read; those that are behind the end of the memory are not there.
Result<std::size_t> read_words(const Fd& fd, std::string_view path, std::span<std::uint64_t> into,
                               std::uint64_t at) {
  const ssize_t got =
      ::pread(fd.get(), into.data(), into.size_bytes(), static_cast<off_t>(at * sizeof(std::uint64_t)));
  if (got >= 0) return static_cast<std::size_t>(got) / sizeof(std::uint64_t);
  if (errno == ENXIO || errno == EINTR) return std::size_t{0};
  return errno_error(errno, path);
}

}  // namespace

std::vector<std::pair<std::uint64_t, std::uint64_t>> page_frames(std::string_view zoneinfo) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> zones;
  std::uint64_t spanned = 0;
  std::string_view line;
  while (host::next_line(zoneinfo, line)) {
    const std::string_view word = host::next_word(line);
    if (word == "Node") spanned = 0;
    if (word != "spanned" && word != "start_pfn:") continue;
    std::uint64_t number = 0;
    if (!host::to_number(host::next_word(line), number) || number > kMostFrames) number = 0;
    if (word == "spanned") {
      spanned = number;
    } else if (spanned > 0 && zones.size() < kMostZones) {
      zones.emplace_back(number, spanned);
      spanned = 0;
    }
  }
  return zones;
}

Result<IdlePages> IdlePages::open(const host::Root& root, std::uint64_t page_size, unsigned seed) {
  IdlePages made;
  made.page_size_ = page_size;
  made.random_.seed(seed);
  made.bitmap_path_ = fmt::format("{}kernel/mm/page_idle/bitmap", root.sys);
  made.flags_path_ = fmt::format("{}kpageflags", root.proc);
  made.groups_path_ = fmt::format("{}kpagecgroup", root.proc);
  made.zoneinfo_ = fmt::format("{}zoneinfo", root.proc);
  KOORD_TRY(bitmap, open_file(made.bitmap_path_, O_RDWR));
  KOORD_TRY(flags, open_file(made.flags_path_, O_RDONLY));
  KOORD_TRY(groups, open_file(made.groups_path_, O_RDONLY));
  made.bitmap_ = std::move(bitmap);
  made.flags_ = std::move(flags);
  made.groups_ = std::move(groups);
  made.find_frames();
  if (made.all_words_ == 0)
    return Error(Code::parse, fmt::format("{}: no zone with start_pfn and spanned", made.zoneinfo_));
  return made;
}

/// Memory may be plugged in; while nobody can say what there is, what there was counts.
void IdlePages::find_frames() {
  const auto text = read_file(zoneinfo_);
  if (!text) return;
  const auto zones = page_frames(*text);
  if (zones.empty()) return;
  words_.clear();
  all_words_ = 0;
  for (const auto& [first, count] : zones) {
    const std::uint64_t from = first / kPagesAWord, to = (first + count + kPagesAWord - 1) / kPagesAWord;
    words_.emplace_back(from, to - from);
    all_words_ += to - from;
  }
}

Result<> IdlePages::tick(MonoTime now) {
  if (++ticks_ % kFramesAgain == 0) find_frames();
  while (!marked_.empty() && now - marked_.front().at >= kIdle) {
    const Marked due = marked_.front();
    marked_.pop_front();
    for (std::size_t i = 0; i < due.count; ++i) taken_.erase(due.words.at(i));
    // Who was held up for long has not looked at the time: others' use of a page may be long past by now, and
    // its mark gone with it, never the other way round.
    KOORD_CHECK(look(due));
  }
  return mark(now);
}

Result<> IdlePages::mark(MonoTime now) {
  if (marked_.size() > 2 * kLooks) return {};
  Marked marked{.at = now};
  for (std::size_t i = 0; i < kWordsATick; ++i) {
    const auto place = draw(marked);
    if (!place) continue;
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    const ssize_t put =
        ::pwrite(bitmap_.get(), &kAll, sizeof kAll, static_cast<off_t>(*place * sizeof(std::uint64_t)));
    if (put < 0 && errno != ENXIO && errno != EINTR) return errno_error(errno, bitmap_path_);
    marked.words.at(marked.count++) = *place;
  }
  taken_.insert(marked.words.begin(), marked.words.begin() + static_cast<std::ptrdiff_t>(marked.count));
  marked_.push_back(marked);
  return {};
}

/// A word that is marked again while it is looked after would make cold what was used before. Nothing: of a
/// small memory nearly all is marked.
std::optional<std::uint64_t> IdlePages::draw(const Marked& marked) {
  const std::span<const std::uint64_t> now(marked.words.data(), marked.count);
  for (int i = 0; i < kDraws; ++i) {
    std::uint64_t place = random_() % all_words_;
    for (const auto& [first, count] : words_) {
      if (place < count) {
        place += first;
        break;
      }
      place -= count;
    }
    if (!taken_.contains(place) && std::ranges::find(now, place) == now.end()) return place;
  }
  return std::nullopt;
}

Result<> IdlePages::look(const Marked& marked) {
  Look seen{.words = marked.count, .cold = {}};
  for (std::size_t i = 0; i < marked.count; ++i) KOORD_CHECK(look(marked.words.at(i), seen));
  looked_ += seen.words;
  for (const auto& [group, pages] : seen.cold) {
    cold_ += pages;
    cold_of_[group] += pages;
  }
  looks_.push_back(std::move(seen));
  if (looks_.size() <= kLooks) return {};
  const Look& past = looks_.front();
  looked_ -= past.words;
  for (const auto& [group, pages] : past.cold) {
    cold_ -= pages;
    const auto of = cold_of_.find(group);
    if ((of->second -= pages) == 0) cold_of_.erase(of);
  }
  looks_.pop_front();
  return {};
}

Result<> IdlePages::look(std::uint64_t word, Look& look) {
  std::uint64_t idle = 0;
  KOORD_TRY(there, read_words(bitmap_, bitmap_path_, std::span(&idle, 1), word));
  if (there == 0 || idle == 0) return {};
  std::array<std::uint64_t, kPagesAWord + kLargestFolio> flags{};
  std::array<std::uint64_t, kPagesAWord> groups{};
  const std::uint64_t first = word * kPagesAWord;
  KOORD_TRY(known, read_words(flags_, flags_path_, flags, first));
  KOORD_TRY(owned, read_words(groups_, groups_path_, groups, first));
  for (std::size_t i = 0; i < std::min({kPagesAWord, known, owned}); ++i) {
    if ((idle >> i & 1U) == 0 || (flags.at(i) & kOnList) == 0 || (flags.at(i) & (kSwapBacked | kTail)) != 0)
      continue;
    std::uint32_t pages = 1;
    if ((flags.at(i) & kHead) != 0)
      while (pages < kLargestFolio && i + pages < known && (flags.at(i + pages) & kTail) != 0) ++pages;
    const auto same =
        std::ranges::find(look.cold, groups.at(i), &std::pair<std::uint64_t, std::uint32_t>::first);
    if (same != look.cold.end())
      same->second += pages;
    else
      look.cold.emplace_back(groups.at(i), pages);
  }
  return {};
}

double IdlePages::scale() const {
  return looked_ == 0 ? 0
                      : static_cast<double>(page_size_) * static_cast<double>(all_words_) /
                            static_cast<double>(looked_);
}

double IdlePages::cold(std::uint64_t inode) const {
  const auto of = cold_of_.find(inode);
  return of == cold_of_.end() ? 0 : static_cast<double>(of->second) * scale();
}

double IdlePages::cold() const { return static_cast<double>(cold_) * scale(); }

}  // namespace koord::koordlet
