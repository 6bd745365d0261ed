// Files of the host: held, read whole, written, listed.
#include "koord/host/file.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "support/tree.hpp"

using namespace koord;
using namespace koord::host;
using koord::testing::Tree;

TEST_CASE("a held file shows what is written later, through the same descriptor") {
  Tree tree({{"f", "one\n"}});
  HeldFile file(tree / "f");
  ReadBuffer buffer;
  CHECK(*file.read(buffer) == "one\n");
  CHECK(file.is_open());
  tree.write("f", "two, longer\n");
  CHECK(*file.read(buffer) == "two, longer\n");
  tree.write("f", "");
  CHECK(file.read(buffer)->empty());
}

TEST_CASE(
    "a held file of something that has gone is an error, is let go, and is found again where it comes back") {
  int gate[2];
  REQUIRE(pipe(gate) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // lives until it is told otherwise
    char byte = 0;
    close(gate[1]);
    (void)!read(gate[0], &byte, 1);
    _exit(0);
  }
  close(gate[0]);
  HeldFile file("/proc/" + std::to_string(child) + "/stat");
  ReadBuffer buffer;
  REQUIRE(file.read(buffer).has_value());
  REQUIRE(file.is_open());
  close(gate[1]);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(file.read(buffer).error().code() == Code::not_found);  // as of a cgroup that was removed
  CHECK_FALSE(file.is_open());
  CHECK(file.read(buffer).error().code() == Code::not_found);

  Tree tree;
  HeldFile late(tree / "f");
  CHECK(late.read(buffer).error().code() == Code::not_found);
  tree.write("f", "here\n");
  CHECK(*late.read(buffer) == "here\n");
}

TEST_CASE("the buffer grows to the file and stops at its limit") {
  Tree tree;
  const std::string big(100'000, 'x');
  tree.write("f", big);
  HeldFile file(tree / "f");
  ReadBuffer enough(200'000);
  CHECK(*file.read(enough) == big);
  const std::size_t grown = enough.capacity();
  CHECK(*file.read(enough) == big);
  CHECK(enough.capacity() == grown);
  ReadBuffer small(50'000);
  const auto text = file.read(small);
  REQUIRE(text.has_error());
  CHECK(text.error().code() == Code::too_large);
}

TEST_CASE("errors of files carry the path and a code that tells what to do") {
  Tree tree({{"f", "x"}, {"d/", ""}});
  CHECK(read_file(tree / "none").error().code() == Code::not_found);
  CHECK(read_file(tree / "none").error().message().find("/none: ") != std::string::npos);
  CHECK(write_file(tree / "none", "1").error().code() == Code::not_found);
  CHECK_FALSE(exists(tree / "none"));
  CHECK(read_file(tree / "d").has_error());
  CHECK(list_folder(tree / "none").error().code() == Code::not_found);
  REQUIRE(write_file(tree / "f", "42").has_value());
  CHECK(*read_file(tree / "f") == "42");
}

TEST_CASE("folders are listed sorted") {
  Tree tree({{"b/x", ""}, {"a/x", ""}, {"file", ""}});
  CHECK(*list_folders(tree.path()) == std::vector<std::string>{"a", "b"});
  CHECK(*list_folder(tree.path()) == std::vector<std::string>{"a", "b", "file"});
  for (const char* name : {"", "/a"})
    if (const std::string path = tree.path() + name; is_leaf_folder(path)) CHECK(list_folders(path)->empty());
  CHECK_FALSE(is_leaf_folder(tree.path()));
  REQUIRE(symlink("a", (tree / "link").c_str()) == 0);
  REQUIRE(symlink("none", (tree / "broken").c_str()) == 0);
  CHECK(*list_folders(tree.path()) == std::vector<std::string>{"a", "b", "link"});
  CHECK_FALSE(is_leaf_folder(tree / "file"));
  CHECK_FALSE(is_leaf_folder(tree / "none"));
}
