// HookServers: the hook servers in effect, from what was found in their folder; a plain state.
#pragma once

#include <map>
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

class HookServers {
 public:
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

 private:
  struct File {
    std::string text;     // as it was read last
    std::string problem;  // of the last reading; empty: it is in effect
    std::optional<HookServer> server;
  };
  void read(File& file, const FoundFile& found, News& news);

  std::map<std::string, File, std::less<>> files_;
  std::vector<HookServer> servers_;
  std::string folder_problem_;
};

}  // namespace koord::proxy
