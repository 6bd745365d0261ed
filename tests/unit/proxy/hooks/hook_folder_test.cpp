// The hook servers' folder: what is read, and who must not be able to write there.
#include "hooks/hook_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "support/tree.hpp"

using namespace koord;
using namespace koord::proxy;

TEST_CASE("A folder that is missing is made", "[hook_folder]") {
  const testing::Tree tree;
  const auto found = read_hook_folder(tree / "runtime/hookserver.d");
  REQUIRE(found.has_value());
  CHECK(found->empty());
  struct stat status {};
  REQUIRE(::stat((tree / "runtime/hookserver.d").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0755);
}

TEST_CASE("Files by their names, links among them, and what is none in a file's place", "[hook_folder]") {
  testing::Tree tree(
      {{"d/b.json", "b"}, {"d/a.json", "a"}, {"d/README", "no"}, {"d/sub.json/", ""}, {"e/c", "c"}});
  std::filesystem::create_symlink("../e/c", tree / "d/c.json");
  std::filesystem::create_symlink("nowhere", tree / "d/gone.json");
  REQUIRE(::mkfifo((tree / "d/pipe.json").c_str(), 0600) == 0);
  const auto found = read_hook_folder(tree / "d");
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 6);
  for (const int i : {0, 1, 2}) {
    CHECK((*found)[i].name == std::string(1, static_cast<char>('a' + i)) + ".json");
    CHECK((*found)[i].text.value() == std::string(1, static_cast<char>('a' + i)));
  }
  // A name that is there has not been removed, whatever lies behind it.
  const char* const wrong[][2] = {{"gone.json", "gone.json: a link to what is not there"},
                                  {"pipe.json", "pipe.json: not a regular file"},
                                  {"sub.json", "sub.json: not a regular file"}};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK((*found)[3 + i].name == wrong[i][0]);
    REQUIRE_FALSE((*found)[3 + i].text.has_value());
    CHECK_THAT((*found)[3 + i].text.error().message(), Catch::EndsWith(wrong[i][1]));
  }
}

TEST_CASE("What others may write is not read", "[hook_folder]") {
  testing::Tree tree({{"d/a.json", "a"}, {"d/b.json", "b"}});
  ::chmod((tree / "d/a.json").c_str(), 0646);
  auto found = read_hook_folder(tree / "d");
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].text.error().code() == Code::forbidden);
  CHECK_THAT((*found)[0].text.error().message(),
             Catch::Contains("a.json: not used") && Catch::Contains("mode 0646"));
  CHECK((*found)[1].text.has_value());
  if (::geteuid() == 0) {  // who is not root cannot give files away
    REQUIRE(::chown((tree / "d/b.json").c_str(), 12345, 0) == 0);
    found = read_hook_folder(tree / "d");
    CHECK((*found)[1].text.error().code() == Code::forbidden);
  }
  ::chmod((tree / "d").c_str(), 0777);
  found = read_hook_folder(tree / "d");
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().code() == Code::forbidden);
}

TEST_CASE("It has bounds", "[hook_folder]") {
  testing::Tree tree({{"d/a.json", std::string(65 << 10, ' ')}});
  auto found = read_hook_folder(tree / "d");
  REQUIRE(found.has_value());
  CHECK((*found)[0].text.error().code() == Code::too_large);
  for (int i = 0; i < 64; ++i) tree.write("d/" + std::to_string(i) + ".json", "");
  found = read_hook_folder(tree / "d");
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().code() == Code::too_large);
}
