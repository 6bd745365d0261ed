// ProcessBook: brings one thing of processes, as their oom_score_adj, to what is wanted, and back to what
// each had before: remembered by a small file, so that the next agent gives back what one that died has set.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "framework/action/process_kind.hpp"
#include "framework/action/processes.hpp"
#include "framework/action/setting_book.hpp"
#include "framework/keep/boot_file.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

class ProcessBook final : public SettingBook {
 public:
  /// `kind` and `files` outlive it.
  ProcessBook(const ProcessKind& kind, BootFile::Place place, ProcessFiles& files);

  Result<> load() override;
  /// Gives back what is not wanted any more where the same process lives and has what was set. Who was forked
  /// with its parent's value gets back what its parent had.
  Outcome pass(std::span<const ProcessSetting> settings) override;
  bool empty() const override { return rows_.empty(); }

 private:
  struct Row {
    std::uint64_t start = 0;
    std::int64_t before = 0;
    std::int64_t set = 0, was = 0;  // it has one of these, if nobody else has written
    std::string group;
    friend bool operator==(const Row&, const Row&) = default;
  };
  using Rows = std::map<pid_t, Row>;
  struct Change {
    Process process;
    std::size_t container;
  };

  void save(Rows rows, Outcome& outcome);
  const Row* find(const Process& process) const;
  Row row_of(const Process& process, const ProcessSetting& setting, const Row* sibling) const;
  void look(const ProcessSetting& setting, std::size_t index, Rows& next, std::vector<Change>& changes,
            Outcome::Container& outcome) const;
  void give_back(const std::vector<std::pair<Process, Row>>& whose, Rows& next, Outcome& outcome);

  const ProcessKind& kind_;
  BootFile file_;
  ProcessFiles& files_;
  Rows rows_;  // by the process' number; what the file has
};

}  // namespace koord::koordlet
