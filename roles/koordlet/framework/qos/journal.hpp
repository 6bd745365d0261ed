// Journal: which cgroup knobs this agent holds down, and what sets them free: a small file that the next
// agent finds if this one dies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/keep/boot_file.hpp"
#include "framework/plan/strategy.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

class Journal {
 public:
  struct Entry {
    host::Knob knob{};
    std::string group;
    int from = 0, to = 0;  // as in LevelRange
    KnobValue free;        // the value that sets it free
    std::string strategy;
    std::string key = {};  // of a file that has many settings

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  explicit Journal(BootFile::Place place);

  /// What an earlier agent of this boot left. After an error nothing was taken over; after Code::parse the
  /// next save() overwrites the file. Rows of knobs that this agent does not know, another version's, are no
  /// error: they stay in the file.
  Result<> load();
  std::size_t unknown_rows() const { return unknown_rows_.size(); }
  /// Nothing to do if nothing changed since it was saved. No entry: no file.
  Result<> save();

  /// The entry for a knob of a group, or null.
  const Entry* find(host::Knob knob, std::string_view group, std::string_view key = {}) const;
  /// Adds it; of an entry for the same knob, group and key only the reach grows, and the value is replaced.
  void note(Entry entry);
  void erase(host::Knob knob, std::string_view group, std::string_view key = {});
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  BootFile file_;
  std::vector<Entry> entries_;  // ascending by group, knob and key
  std::vector<std::string> unknown_rows_;
  bool changed_ = false;
};

}  // namespace koord::koordlet
