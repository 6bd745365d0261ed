// Watching: see folder_watch.hpp.
#include "hooks/folder_watch.hpp"

#include <set>

namespace koord::proxy {

namespace {

constexpr std::uint32_t kFiles = IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kSockets = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR;

std::string_view room_of(std::string_view path) {
  const std::size_t end = path.rfind('/');
  return end == 0 || end == std::string_view::npos ? "/" : path.substr(0, end);
}
std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<FolderWatch> FolderWatch::open(asio::any_io_executor executor, std::string folder) {
  KOORD_TRY(watch, FileWatch::open(std::move(executor)));
  return FolderWatch(std::move(watch), std::move(folder));
}

void FolderWatch::follow(const std::vector<HookServer>& servers) {
  servers_ = servers;
  std::set<std::string> wanted;
  for (const HookServer& server : servers) wanted.emplace(room_of(server.endpoint));
  // One watch serves a folder that is both: the files' mask has all that sockets need.
  wanted.erase(folder_);
  for (auto at = rooms_.begin(); at != rooms_.end();) {
    if (wanted.contains(at->first)) {
      ++at;
      continue;
    }
    watch_.remove(at->second);
    at = rooms_.erase(at);
  }
  for (const std::string& room : wanted)
    if (const auto added = watch_.add(room, kSockets)) rooms_[room] = *added;
  if (const auto added = watch_.add(folder_, kFiles)) folder_watch_ = *added;
}

Task<Result<FolderWatch::Changes>> FolderWatch::next() {
  KOORD_CO_TRY(events, co_await watch_.next());
  Changes changes;
  for (const FileEvent& event : events) {
    if (event.watch < 0)
      for (const HookServer& server : servers_) {
        changes.files.push_back(server.file);
        changes.sockets.push_back(server.endpoint);
      }
    if (event.watch == folder_watch_) changes.files.push_back(event.name);
    for (const HookServer& server : servers_)
      if (name_of(server.endpoint) == event.name) {
        const auto room = rooms_.find(std::string(room_of(server.endpoint)));
        if (event.watch == (room != rooms_.end() ? room->second : folder_watch_))
          changes.sockets.push_back(server.endpoint);
      }
  }
  co_return changes;
}

}  // namespace koord::proxy
