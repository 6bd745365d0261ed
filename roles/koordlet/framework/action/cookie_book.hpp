// CookieBook: has the processes of containers that share a name share a core scheduling cookie, and takes it
// from them again: remembered by a small file, so that the next agent goes on with the cookies that one that
// died has given, and takes no others.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "framework/action/process_kind.hpp"
#include "framework/action/processes.hpp"
#include "framework/action/setting_book.hpp"
#include "framework/keep/boot_file.hpp"
#include "koord/host/core_sched.hpp"

namespace koord::koordlet {

/// A name (ProcessSetting::shared) has one cookie for as long as a process lives that has it by this book;
/// then another one. Who has got a cookie from somebody else keeps it.
class CookieBook final : public SettingBook {
 public:
  /// `kind`, whose value is the cookie, and `files` outlive it.
  CookieBook(const ProcessKind& kind, BootFile::Place place, ProcessFiles& files);

  Result<> load() override;
  /// A process that is forked while its parent is given a cookie is looked for again, a few times in a pass;
  /// the next pass finds the others.
  Outcome pass(std::span<const ProcessSetting> settings) override;
  bool empty() const override { return rows_.empty(); }

 private:
  struct Row {
    std::uint64_t start = 0;
    host::CoreCookie set = 0, was = 0;  // it has one of these, or none
    std::string name, group;
    friend bool operator==(const Row&, const Row&) = default;
  };
  using Rows = std::map<pid_t, Row>;
  struct Pass;

  void save(Rows rows, Outcome& outcome);
  const Row* find(const Process& process) const;

  const ProcessKind& kind_;
  BootFile file_;
  ProcessFiles& files_;
  Rows rows_;  // by the process' number; what the file has
};

}  // namespace koord::koordlet
