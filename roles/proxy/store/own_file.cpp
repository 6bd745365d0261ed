// Files of the proxy's own: see own_file.hpp.
#include "store/own_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "koord/base/file.hpp"
#include "koord/base/ownership.hpp"

namespace koord::proxy {

namespace {

Result<> check_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return errno_error(errno, folder);
  return check_ownership(status, folder, Guard::replace);
}

}  // namespace

Result<std::string> read_own_file(const std::string& path, std::size_t limit) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return errno_error(errno, path);
  KOORD_CHECK(check_folder_of(path));
  KOORD_CHECK(check_ownership(status, path));
  return read_file(path, limit, Source::own);
}

Result<> write_own_file(const std::string& path, std::string_view text) {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (std::filesystem::create_directories(folder, failed))
    std::filesystem::permissions(folder, std::filesystem::perms(0755), failed);
  KOORD_CHECK(check_folder_of(path));
  // A crash of the machine ends all that it tells of.
  return replace_file(path, text, {.mode = 0600, .sync = false});
}

}  // namespace koord::proxy
