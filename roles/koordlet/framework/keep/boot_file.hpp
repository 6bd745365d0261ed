// BootFile: a small file of lines that an agent leaves for the next one of the same boot: what is held back,
// who was evicted, whose score was set.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::koordlet {

/// The first line is a header with the boot's id, each other one a row. What it tells of ends with the
/// kernel that runs: a file of another boot is of no use, and none is synced. Blocks for as long as the disk
/// takes; one thread at a time.
class BootFile {
 public:
  /// What it is a file of; texts are static.
  struct Kind {
    std::string_view header;  // with the format's number and a blank: "koord-journal 1 "
    std::string_view what;    // in errors: "not WHAT"
    std::string_view row;     // in errors: "cannot read this ROW"
    std::size_t max_size, max_rows;
  };
  struct Place {
    std::string path;                     // empty: nothing is read or written (tests)
    std::vector<std::string> older = {};  // other places in which an agent may have kept it
    std::string boot_id = {};             // /proc/sys/kernel/random/boot_id
  };
  BootFile(const Kind& kind, Place place) : kind_(kind), place_(std::move(place)) {}

  /// Hands each row that an earlier agent of this boot left to `take`, which says whether it is one; from the
  /// first of the places that has a file. None is no error. After an error, which names path and line, the
  /// caller keeps no row of it: Code::parse is a file that is no such file, or that is cut off or garbled.
  Result<> load(const std::function<bool(std::string_view row)>& take);
  /// Whether there is something to save even if no row has changed: the file could not be written, is no such
  /// file or of another boot, or is in an older place.
  bool is_stale() const { return stale_; }

  /// `rows` ends with a line feed, unless it is empty. Replaced with rename: the file is whole, always. Files
  /// in older places are removed.
  Result<> save(std::string_view rows);
  /// Leaves no file; while one in an older place cannot be removed, a file without rows that outdates it.
  Result<> remove();

 private:
  Result<> read(const std::string& path, const std::function<bool(std::string_view row)>& take, bool& found);
  bool forget_older();

  Kind kind_;
  Place place_;
  bool stale_ = false;
};

/// Takes the text up to the next tab, or what is left of it, off `row`, with the tab.
std::string_view take_field(std::string_view& row);

}  // namespace koord::koordlet
