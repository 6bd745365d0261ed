// Journal: which cgroup knobs this agent holds down, and what sets them free: a small file that the next
// agent finds if this one dies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/strategy.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

class Journal {
 public:
  struct Entry {
    host::Knob knob{};
    std::string group;
    int from = 0, to = 0;  // as in Reach
    KnobValue free;        // the value that sets it free
    std::string strategy;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// Nothing is read or written without a path. `older`: other places in which an agent may have kept it.
  Journal(std::string path, std::string boot_id, std::vector<std::string> older = {})
      : path_(std::move(path)), boot_id_(std::move(boot_id)), older_(std::move(older)) {}

  /// What an earlier agent of this boot left, in the first of the places that has a file. Code::parse:
  /// nothing was taken over, the next save() overwrites the file.
  Result<> load();
  /// With rename: the file is whole, always. Nothing to do if nothing changed since it was saved. No entry:
  /// no file. Files in older places are removed; while one cannot be, an empty journal outdates it.
  Result<> save();

  /// The entry for a knob of a group, or null.
  const Entry* find(host::Knob knob, std::string_view group) const;
  /// Adds it; of an entry for the same knob and group only the reach grows, and the value is replaced.
  void note(Entry entry);
  void erase(host::Knob knob, std::string_view group);
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  Result<> read(const std::string& path, bool& found);
  bool forget_older();

  std::string path_, boot_id_;
  std::vector<std::string> older_;
  std::vector<Entry> entries_;  // ascending by group and knob
  bool changed_ = false;
};

}  // namespace koord::koordlet
