// Who may change what is read as root's own: files that decide what others get, folders in which they lie.
#pragma once

#include <sys/stat.h>

#include <string_view>

#include "koord/base/result.hpp"

namespace koord {

/// What others must not be able to do.
enum class Guard : std::uint8_t {
  change,   // write to the file; put anything into the folder, take it out or replace it
  replace,  // the folder's own entries: others may have entries of theirs in it, as in /tmp
};

/// Ok where nobody but root and this process's user can do that to what `status` is of. Code::forbidden:
/// others can; the message names `path`, how they can, and what to do. Access lists are not looked at: their
/// mask stands in the mode's group bits.
Result<> check_ownership(const struct stat& status, std::string_view path, Guard guard = Guard::change);

}  // namespace koord
