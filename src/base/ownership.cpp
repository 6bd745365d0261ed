// Ownership: see ownership.hpp.
#include "koord/base/ownership.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace koord {

Result<> check_ownership(const struct stat& status, std::string_view path, Guard guard) {
  const bool is_folder = S_ISDIR(status.st_mode);
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    return Error(Code::forbidden, fmt::format("{}: not used, for user {} owns this {}: chown root it", path,
                                              status.st_uid, is_folder ? "folder" : "file"));
  if (guard == Guard::replace && is_folder && (status.st_mode & S_ISVTX) != 0) return {};
  if ((status.st_mode & S_IWOTH) == 0 && ((status.st_mode & S_IWGRP) == 0 || status.st_gid == 0)) return {};
  return Error(Code::forbidden,
               fmt::format("{}: not used, for others than root may write {} (mode {:04o}): chmod go-w it",
                           path, is_folder ? "into this folder" : "this file", status.st_mode & 07777));
}

}  // namespace koord
