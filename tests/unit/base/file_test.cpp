#include "koord/base/file.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <thread>

#include "support/tree.hpp"

using namespace koord;
using koord::testing::Tree;

namespace {

/// What can stand where a regular file is expected.
enum class Thing { nothing, file, link, dangling_link, fifo, folder, device, socket };

void put(const Tree& tree, const std::string& name, Thing thing) {
  const std::string path = tree / name;
  switch (thing) {
    case Thing::nothing: return;
    case Thing::file: return Tree::write_to(path, "old");
    case Thing::link:
      Tree::write_to(tree / "victim", "victim");
      return std::filesystem::create_symlink(tree / "victim", path);
    case Thing::dangling_link: return std::filesystem::create_symlink(tree / "made", path);
    case Thing::fifo: REQUIRE(mkfifo(path.c_str(), 0600) == 0); return;
    case Thing::folder: std::filesystem::create_directories(path); return;
    case Thing::device: return std::filesystem::create_symlink("/dev/null", path);
    case Thing::socket: {
      const Fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path.copy(address.sun_path, sizeof address.sun_path - 1);
      REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
      return;
    }
  }
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777;
}

}  // namespace

TEST_CASE("only what a source allows is read, and nothing is waited for") {
  struct Row {
    Thing thing;
    Source source;
    std::optional<Code> code;
  };
  const Row rows[] = {
      {Thing::file, Source::file, {}},
      {Thing::file, Source::own, {}},
      {Thing::file, Source::stream, {}},
      {Thing::link, Source::file, {}},
      {Thing::link, Source::own, Code::invalid},
      {Thing::link, Source::stream, {}},
      {Thing::nothing, Source::file, Code::not_found},
      {Thing::dangling_link, Source::file, Code::not_found},
      {Thing::fifo, Source::file, Code::invalid},
      {Thing::fifo, Source::own, Code::invalid},
      {Thing::folder, Source::file, Code::invalid},
      {Thing::folder, Source::stream, Code::invalid},
      {Thing::device, Source::file, Code::invalid},
      {Thing::device, Source::stream, {}},
      {Thing::socket, Source::file, Code::io},
  };
  for (const Row& row : rows) {
    INFO(static_cast<int>(row.thing) << " as " << static_cast<int>(row.source));
    Tree tree;
    put(tree, "f", row.thing);
    const auto text = read_file(tree / "f", 100, row.source);
    if (row.code) {
      REQUIRE(text.has_error());
      CHECK(text.error().code() == *row.code);
      CHECK(text.error().message().find(tree / "f") == 0);
    } else {
      CHECK(text.has_value());
    }
  }
}

TEST_CASE("a pipe is read to its end, and not beyond the limit") {
  Tree tree;
  put(tree, "f", Thing::fifo);
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{10'000}, std::size_t{10'001}}) {
    std::thread writer([&] {
      const Fd fd(open((tree / "f").c_str(), O_WRONLY | O_CLOEXEC));
      const std::string text(size, 'x');
      (void)!write(fd.get(), text.data(), text.size());
    });
    const auto text = read_file(tree / "f", 10'000, Source::stream);
    writer.join();
    if (size > 10'000)
      CHECK(text.error().code() == Code::too_large);
    else
      CHECK(*text == std::string(size, 'x'));
  }
}

TEST_CASE("a file is as long as the limit, or it is an error") {
  Tree tree;
  for (const std::size_t limit :
       {std::size_t{0}, std::size_t{3}, std::size_t{4095}, std::size_t{4096}, std::size_t{100'000}}) {
    tree.write("f", std::string(limit, 'x'));
    CHECK(read_file(tree / "f", limit)->size() == limit);
    tree.write("f", std::string(limit + 1, 'x'));
    CHECK(read_file(tree / "f", limit).error().code() == Code::too_large);
  }
  CHECK(read_file("/proc/self/status")->starts_with("Name:"));  // says that it is empty
  CHECK(read_file("/proc/self/maps", 10).error().code() == Code::too_large);
}

TEST_CASE("a file of ours is replaced whole") {
  Tree tree({{"d/", ""}});
  REQUIRE(replace_file(tree / "f", "one").has_value());
  CHECK(mode_of(tree / "f") == 0600);
  REQUIRE(replace_file(tree / "f", std::string(100'000, 'x'), {.mode = 0640, .sync = false}).has_value());
  CHECK(mode_of(tree / "f") == 0640);
  CHECK(read_file(tree / "f")->size() == 100'000);
  CHECK(replace_file(tree / "none/f", "x").error().code() == Code::not_found);
  CHECK_FALSE(std::filesystem::exists(tree / "f.new"));
}

TEST_CASE("only a regular file is replaced") {
  for (const Thing thing :
       {Thing::link, Thing::dangling_link, Thing::fifo, Thing::folder, Thing::device, Thing::socket}) {
    INFO(static_cast<int>(thing));
    Tree tree;
    put(tree, "f", thing);
    const auto before = std::filesystem::symlink_status(tree / "f").type();
    const auto done = replace_file(tree / "f", "new");
    REQUIRE(done.has_error());
    CHECK(done.error().code() == Code::invalid);
    CHECK(done.error().message().find("expected a regular file") != std::string::npos);
    CHECK(std::filesystem::symlink_status(tree / "f").type() == before);
    CHECK_FALSE(std::filesystem::exists(tree / "made"));
    if (thing == Thing::link) CHECK(*read_file(tree / "victim") == "victim");
  }
}

TEST_CASE("what is in the way of the draft is removed, never written through") {
  for (const Thing thing :
       {Thing::file, Thing::link, Thing::dangling_link, Thing::fifo, Thing::device, Thing::socket}) {
    INFO(static_cast<int>(thing));
    Tree tree({{"f", "old"}});
    put(tree, "f.new", thing);
    REQUIRE(replace_file(tree / "f", "new").has_value());
    CHECK(*read_file(tree / "f", 100, Source::own) == "new");
    CHECK_FALSE(std::filesystem::exists(tree / "made"));
    if (thing == Thing::link) CHECK(*read_file(tree / "victim") == "victim");
  }
  Tree tree({{"f", "old"}, {"f.new/kept", "kept"}});
  CHECK(replace_file(tree / "f", "new").has_error());
  CHECK(*read_file(tree / "f") == "old");
  CHECK(*read_file(tree / "f.new/kept") == "kept");
}

TEST_CASE("what cannot be written whole leaves the old file") {
  Tree tree({{"f", "old"}});
  REQUIRE(chmod(tree.path().c_str(), 0500) == 0);
  const auto done = replace_file(tree / "f", "new");
  REQUIRE(chmod(tree.path().c_str(), 0700) == 0);
  if (geteuid() != 0) CHECK(done.error().code() == Code::forbidden);
  CHECK_FALSE(std::filesystem::exists(tree / "f.new"));
  CHECK(*read_file(tree / "f") == (done ? "new" : "old"));
}

TEST_CASE("only a regular file is appended to") {
  for (const Thing thing : {Thing::nothing, Thing::file, Thing::link, Thing::dangling_link, Thing::fifo,
                            Thing::folder, Thing::device, Thing::socket}) {
    INFO(static_cast<int>(thing));
    Tree tree;
    put(tree, "f", thing);
    const auto fd = open_for_append(tree / "f", 0640);
    CHECK_FALSE(std::filesystem::exists(tree / "made"));
    if (thing != Thing::nothing && thing != Thing::file) {
      REQUIRE(fd.has_error());
      CHECK(fd.error().code() == Code::invalid);
      continue;
    }
    REQUIRE(write(fd->get(), "+", 1) == 1);
    CHECK(*read_file(tree / "f") == (thing == Thing::file ? "old+" : "+"));
  }
}
