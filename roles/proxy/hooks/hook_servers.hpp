// HookServers: the hook servers in effect, from what was found in their folder; a plain state.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hooks/hook_file.hpp"
#include "koord/base/result.hpp"

namespace koord::proxy {

struct FoundFile {
  std::string name;
  Result<std::string> text;
};
/// What is wrong with the folder itself, or its files, those that is_hook_file() says, each name once.
using FoundFiles = Result<std::vector<FoundFile>>;
/// Files' texts by their names.
using HookTexts = std::map<std::string, std::string, std::less<>>;

class HookServers {
 public:
  /// `kept`: what an earlier process's good() was. It stands for files that cannot be read from the start.
  explicit HookServers(HookTexts kept = {}) : kept_(std::move(kept)) {}

  struct News {
    /// For the log: what came into effect, what does not, and why. Each once, until it changes.
    std::vector<std::string> told, problems;
    bool changed = false;
  };
  /// A file that has gone takes its server with it. What cannot be read (a file, or the whole folder) leaves
  /// what it said last in effect.
  News update(const FoundFiles& found);

  /// In the order of the files' names.
  const std::vector<HookServer>& all() const { return servers_; }
  /// Files that are not as they stand in the folder in effect, and the folder, if it cannot be read.
  std::size_t bad() const;
  /// The texts that are in effect, for who comes after this process.
  HookTexts good() const;

 private:
  struct File {
    std::optional<std::string> text;  // as it was read last; nothing: it could not be read
    std::string problem;              // of the last reading; empty: it is in effect
    std::optional<HookServer> server;
    std::string good;      // the text that `server` is of
    bool is_kept = false;  // `server` is an earlier process's: nothing better has been read since
  };
  void read(File& file, const FoundFile& found, News& news);
  File& file_named(const std::string& name, News& news);
  void take_effect();

  HookTexts kept_;
  std::map<std::string, File, std::less<>> files_;
  std::vector<HookServer> servers_;
  std::string folder_problem_;
};

}  // namespace koord::proxy
