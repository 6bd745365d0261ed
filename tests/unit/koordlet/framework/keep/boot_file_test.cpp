// Files that the agents of one boot leave each other: what is read, from where, and what becomes of what
// cannot be read.
#include "framework/keep/boot_file.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "koord/base/file.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using koord::testing::Tree;

constexpr BootFile::Kind kKind{
    .header = "koord-x 1 ", .what = "a file of x", .row = "x", .max_size = 64, .max_rows = 3};

/// Rows are of one letter.
struct Reader {
  explicit Reader(BootFile::Place place) : file(kKind, std::move(place)) {}
  Result<> load() {
    return file.load([this](std::string_view row) {
      rows += row;
      return row.size() == 1;
    });
  }
  BootFile file;
  std::string rows;
};

BootFile::Place place_of(const Tree& tree) {
  return {.path = tree / "here/x", .older = {tree / "old/x", tree / "older/x"}, .boot_id = "b"};
}

TEST_CASE("A file of this boot is read, one of another is of no use", "[koordlet][keep]") {
  struct Row {
    const char* text;
    const char* rows;   // what is taken over
    const char* error;  // the end of its message; empty: none
    bool stale;
  };
  const Row row = GENERATE(values<Row>({
      {"koord-x 1 b\n", "", "", false},
      {"koord-x 1 b\na\nc\n", "ac", "", false},
      {"koord-x 1 b\na\nb\nc\n", "abc", "", false},
      {"koord-x 1 other\nnonsense\n", "", "", true},
      {"koord-x 1 \na\n", "", "", true},    // of no boot
      {"koord-x 1 bb\na\n", "", "", true},  // of one whose name begins like this one's
      {"koord-x 1 B\na\n", "", "", true},
      {"", "", "/x: not a file of x", true},
      {"\n", "", "/x: not a file of x", true},
      {"koord-x 1 b", "", "/x: not a file of x", true},        // cut off in the header
      {"koord-x 1 b\na\nc", "", "/x: not a file of x", true},  // and in a row
      {"koord-x 2 b\na\n", "", "/x: not a file of x", true},   // a later version's
      {"koord-y 1 b\na\n", "", "/x: not a file of x", true},
      {"a\nkoord-x 1 b\n", "", "/x: not a file of x", true},
      {"\r\n\r\n", "", "/x: not a file of x", true},
      {"koord-x 1 b\na\nbad\nc\n", nullptr, "/x:3: cannot read this x", true},
      {"koord-x 1 b\n\n", nullptr, "/x:2: cannot read this x", true},
      {"koord-x 1 b\na\nb\nc\nd\n", nullptr, "/x:5: cannot read this x", true},  // more than it may have
  }));
  Tree tree{{"here/x", row.text}};
  Reader reader(place_of(tree));
  const auto loaded = reader.load();
  CAPTURE(row.text);
  REQUIRE(loaded.has_value() == (*row.error == '\0'));
  if (row.rows != nullptr) CHECK(reader.rows == row.rows);
  if (!loaded) {
    CHECK(loaded.error().code() == Code::parse);
    CHECK(loaded.error().message().ends_with(row.error));
  }
  CHECK(reader.file.is_stale() == row.stale);
  REQUIRE(reader.file.save("z\n").has_value());
  CHECK_FALSE(reader.file.is_stale());
  CHECK(read_file(tree / "here/x").value() == "koord-x 1 b\nz\n");
}

TEST_CASE("What cannot be read is an error, and what is no file of ours stays", "[koordlet][keep]") {
  Tree tree{{"here/target", "koord-x 1 b\na\n"}, {"old/x", "koord-x 1 b\nc\n"}};
  Reader reader(place_of(tree));
  SECTION("too long") {
    tree.write("here/x", "koord-x 1 b\n" + std::string(64, 'a'));
    CHECK(reader.load().error().code() == Code::too_large);
  }
  SECTION("a link") {
    std::filesystem::create_symlink(tree / "here/target", tree / "here/x");
    CHECK(reader.load().error().code() == Code::invalid);
    CHECK_FALSE(reader.file.save("z\n").has_value());
    CHECK(reader.file.is_stale());
    CHECK(read_file(tree / "here/target").value() == "koord-x 1 b\na\n");
    return;
  }
  SECTION("a folder") {
    tree.write("here/x/", "");
    CHECK_FALSE(reader.load().has_value());
    CHECK_FALSE(reader.file.save("z\n").has_value());
    CHECK(reader.file.is_stale());
    return;
  }
  CHECK(reader.rows.empty());
  CHECK_FALSE(reader.file.is_stale());  // it may be readable the next time
  CHECK(reader.file.save("z\n").has_value());
}

TEST_CASE("The first place that has a file counts, and the file moves", "[koordlet][keep]") {
  struct Row {
    std::vector<std::pair<std::string, std::string>> files;
    std::string rows;
    bool stale, fails;
  };
  const std::string good = "koord-x 1 b\n";
  const auto row = GENERATE_COPY(values<Row>({
      {{}, "", false, false},
      {{{"here/x", good + "a\n"}, {"old/x", good + "c\n"}}, "a", false, false},
      {{{"old/x", good + "c\n"}, {"older/x", good + "d\n"}}, "c", true, false},
      {{{"older/x", good + "d\n"}}, "d", true, false},
      {{{"here/x", "koord-x 1 other\n"}, {"old/x", good + "c\n"}}, "", true, false},
      {{{"here/x", "nonsense"}, {"old/x", good + "c\n"}}, "", true, true},
      {{{"old/x", "nonsense"}, {"older/x", good + "d\n"}}, "", true, true},
  }));
  Tree tree;
  for (const auto& [file, text] : row.files) tree.write(file, text);
  Reader reader(place_of(tree));
  CHECK(reader.load().has_value() == !row.fails);
  CHECK(reader.rows == row.rows);
  CHECK(reader.file.is_stale() == row.stale);
  const bool leave = GENERATE(true, false);
  CHECK((leave ? reader.file.save("z\n") : reader.file.remove()).has_value());
  CHECK_FALSE(reader.file.is_stale());
  CHECK(read_file(tree / "here/x").has_value() == leave);
  CHECK_FALSE(read_file(tree / "old/x").has_value());
  CHECK_FALSE(read_file(tree / "older/x").has_value());
}

TEST_CASE("Nothing is read or written without a path", "[koordlet][keep]") {
  Reader reader(BootFile::Place{});
  CHECK(reader.load().has_value());
  CHECK(reader.file.save("z\n").has_value());
  CHECK(reader.file.remove().has_value());
  CHECK_FALSE(reader.file.is_stale());
}

TEST_CASE("An older file that cannot be removed is outdated by one without rows", "[koordlet][keep]") {
  Tree tree{{"old/x/is a folder", ""}};
  Reader reader(place_of(tree));
  CHECK_FALSE(reader.load().has_value());
  CHECK(reader.file.remove().has_value());
  CHECK(read_file(tree / "here/x").value() == "koord-x 1 b\n");
}

TEST_CASE("Fields end with tabs", "[koordlet][keep]") {
  std::string_view row = "a b\t\tc";
  CHECK(take_field(row) == "a b");
  CHECK(take_field(row).empty());
  CHECK(take_field(row) == "c");
  CHECK(row.empty());
  CHECK(take_field(row).empty());
}

}  // namespace
}  // namespace koord::koordlet
