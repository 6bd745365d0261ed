// IdlePages: which file pages nobody uses, by the kernel's idle page tracking, of a sample of the memory.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/file.hpp"
#include "koord/base/result.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// Numbers of page frames that there may be: of each zone of /proc/zoneinfo the first one and how many. What
/// the text does not say has none.
std::vector<std::pair<std::uint64_t, std::uint64_t>> page_frames(std::string_view zoneinfo);

/// Each tick marks 512 pages somewhere in the memory as idle, none that is marked already, and looks at those
/// that were marked five minutes before: a mark is there still on whose page nobody used. What that means for
/// the whole is an estimate; it costs the same on each machine. Of a large folio the kernel marks the first
/// page, which counts for all. Not thread-safe. Reclaim is not changed by marks, but another program that
/// tracks the same pages is.
class IdlePages {
 public:
  static constexpr std::size_t kWordsATick = 8, kPagesAWord = 64;
  static constexpr nanoseconds kIdle = std::chrono::minutes(5);
  /// Looks that the estimate is of: as many as there are in five minutes of seconds.
  static constexpr std::size_t kLooks = 300;

  /// Code::not_found, forbidden: the kernel does not track idle pages, or not for us; the file is named.
  static Result<IdlePages> open(const host::Root& root, std::uint64_t page_size, unsigned seed);

  Result<> tick(MonoTime now);
  /// Whether there are enough looks.
  bool known() const { return looks_.size() == kLooks; }
  /// Bytes of file pages that nobody has used, of the cgroup with this inode alone; of all of them.
  double cold(std::uint64_t inode) const;
  double cold() const;

 private:
  using Words = std::array<std::uint64_t, kWordsATick>;
  struct Marked {
    MonoTime at;
    Words words{};
    std::size_t count = 0;
  };
  struct Look {
    std::size_t words = 0;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> cold;  // pages by cgroup
  };
  IdlePages() = default;
  void find_frames();
  Result<> mark(MonoTime now);
  std::optional<std::uint64_t> draw(const Marked& marked);
  Result<> look(const Marked& marked);
  Result<> look(std::uint64_t word, Look& look);
  double scale() const;

  std::string zoneinfo_, bitmap_path_, flags_path_, groups_path_;
  Fd bitmap_, flags_, groups_;
  std::uint64_t page_size_ = 0;
  std::mt19937_64 random_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> words_;  // of the bitmap: the first one and how many
  std::uint64_t all_words_ = 0;
  std::size_t ticks_ = 0;
  std::deque<Marked> marked_;
  std::set<std::uint64_t> taken_;  // words of `marked_`
  std::deque<Look> looks_;
  std::uint64_t looked_ = 0, cold_ = 0;             // words, pages of `looks_`
  std::map<std::uint64_t, std::uint64_t> cold_of_;  // by cgroup
};

}  // namespace koord::koordlet
