// Who may change what is root's: modes and owners.
#include "koord/base/ownership.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>

using namespace koord;

TEST_CASE("What others may write is not used", "[ownership]") {
  struct Row {
    const char* what;
    mode_t mode;
    uid_t owner;
    gid_t group;
    Guard guard;
    const char* refused;  // a part of the message; null: it is fine
  };
  const uid_t me = ::geteuid();
  const Row rows[] = {
      {"root's alone", S_IFREG | 0600, 0, 0, Guard::change, nullptr},
      {"read by all", S_IFREG | 0644, 0, 50, Guard::change, nullptr},
      {"this user's", S_IFREG | 0644, me, 50, Guard::change, nullptr},
      {"root's group may write", S_IFREG | 0664, 0, 0, Guard::change, nullptr},
      {"another group may", S_IFREG | 0664, 0, 50, Guard::change,
       "write this file (mode 0664): chmod go-w it"},
      {"all may", S_IFREG | 0646, 0, 0, Guard::change, "write this file (mode 0646)"},
      {"somebody else's", S_IFREG | 0600, 12345, 0, Guard::change,
       "user 12345 owns this file: chown root it"},
      {"a folder", S_IFDIR | 0755, 0, 0, Guard::change, nullptr},
      {"as /tmp", S_IFDIR | 01777, 0, 0, Guard::change, "into this folder (mode 1777)"},
      {"as /tmp, for an entry", S_IFDIR | 01777, 0, 0, Guard::replace, nullptr},
      {"all may, for an entry", S_IFDIR | 0777, 0, 0, Guard::replace, "into this folder (mode 0777)"},
      {"somebody else's, for an entry", S_IFDIR | 01755, 12345, 0, Guard::replace,
       "user 12345 owns this folder"},
      {"a file has no entries", S_IFREG | 01666, 0, 0, Guard::replace, "write this file (mode 1666)"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    struct stat status {};
    status.st_mode = row.mode;
    status.st_uid = row.owner;
    status.st_gid = row.group;
    const auto checked = check_ownership(status, "/p", row.guard);
    CHECK(checked.has_value() == (row.refused == nullptr));
    if (row.refused == nullptr || checked) continue;
    CHECK(checked.error().code() == Code::forbidden);
    CHECK_THAT(checked.error().message(),
               Catch::StartsWith("/p: not used, for ") && Catch::Contains(row.refused));
  }
}
