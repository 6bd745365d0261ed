// FolderWatch: changes of the hook servers' folder, and of the sockets that its files name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hooks/hook_file.hpp"
#include "koord/async/file_watch.hpp"

namespace koord::proxy {

class FolderWatch {
 public:
  struct Changes {
    std::vector<std::string> files;    // names in the folder
    std::vector<std::string> sockets;  // paths at which somebody has put a socket
  };

  static Result<FolderWatch> open(asio::any_io_executor executor, std::string folder);
  /// Watches the folder, if it is there, and those of the servers' sockets, and no others. Again before each
  /// next(): folders come and go.
  void follow(const std::vector<HookServer>& servers);
  /// Waits for changes; of what they cannot be told, all of it.
  Task<Result<Changes>> next();

 private:
  FolderWatch(FileWatch watch, std::string folder) : watch_(std::move(watch)), folder_(std::move(folder)) {}

  FileWatch watch_;
  std::string folder_;
  int folder_watch_ = -1;
  std::map<std::string, int> rooms_;  // folders of sockets
  std::vector<HookServer> servers_;
};

}  // namespace koord::proxy
