// JSON merge patches and JSON patches on documents: their meaning, and that neither takes long.
#include "koord/json/patch.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/json/writer.hpp"
#include "support/sanitized.hpp"

namespace koord::json {
namespace {

enum class Kind { merge, operations };

Result<Document> patched(Kind kind, std::string_view target, std::string_view patch) {
  KOORD_TRY(document, parse(target));
  KOORD_TRY(parsed, parse(patch));
  if (kind == Kind::merge)
    merge_patch(document, parsed, document.arena());
  else
    KOORD_CHECK(json_patch(document, parsed, document.arena()));
  return std::move(document);
}

std::string apply(Kind kind, std::string_view target, std::string_view patch) {
  const auto done = patched(kind, target, patch);
  return done ? to_text(*done) : "error: " + done.error().message();
}

TEST_CASE("merge patches are RFC 7386's") {
  struct Case {
    const char *target, *patch, *result;
  };
  // The RFC's own table.
  const Case cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", "{}"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"a":"foo"})", "\"bar\"", "\"bar\""},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const Case& c : cases) {
    INFO(c.target << " + " << c.patch);
    CHECK(apply(Kind::merge, c.target, c.patch) == c.result);
  }
}

TEST_CASE("merge_diff makes the patch") {
  const auto a = parse(R"({"x":1,"y":{"a":1,"b":[1]},"z":"old"})");
  const auto b = parse(R"({"x":1.0,"y":{"a":2,"b":[1],"c":true}})");
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  Arena arena;
  CHECK(to_text(*merge_diff(*a, *b, arena)) == R"({"z":null,"y":{"a":2,"c":true}})");
  CHECK_FALSE(merge_diff(*a, *a, arena).has_value());
}

TEST_CASE("JSON patches are RFC 6902's") {
  struct Case {
    const char *target, *patch, *result;
  };
  const Case cases[] = {
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])", R"({"foo":"bar","baz":"qux"})"},
      {R"({"foo":["a","b"]})", R"([{"op":"add","path":"/foo/1","value":"x"}])", R"({"foo":["a","x","b"]})"},
      {R"({"foo":["a"]})", R"([{"op":"add","path":"/foo/-","value":["x"]}])", R"({"foo":["a",["x"]]})"},
      {R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])", R"({"b":2})"},
      {R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/1"}])", R"({"a":[1,3]})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":null}])", R"({"a":null})"},
      {R"({"a":{"b":1},"c":{}})", R"([{"op":"move","from":"/a/b","path":"/c/d"}])",
       R"({"a":{},"c":{"d":1}})"},
      {R"({"a":[1,2,3]})", R"([{"op":"move","from":"/a/0","path":"/a/2"}])", R"({"a":[2,3,1]})"},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])", R"({"a":{"b":1},"c":{"b":1}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])", R"({"a":1})"},
      {R"({"a~/":1})", R"([{"op":"test","path":"/a~0~1","value":1}])", R"({"a~/":1})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":[1]}])", "[1]"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])",
       "error: operation 0: test: /a: has another value"},
      {R"({"a":1})", R"([{"op":"remove","path":"/b"}])", "error: operation 0: /b: does not exist"},
      {R"({"a":[1]})", R"([{"op":"remove","path":"/a/-"}])", "error: operation 0: /a/-: does not exist"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/5","value":1}])",
       "error: operation 0: /a/5: no such index"},
      {R"({"a":1})", R"([{"op":"add","path":"/b/c","value":1}])",
       "error: operation 0: /b/c: the parent does not exist"},
      {R"({"a":1})", R"([{"op":"replace","path":"/b","value":1}])", "error: operation 0: /b: does not exist"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])",
       "error: operation 0: /a: cannot move into itself"},
      {"{}", R"([{"op":"frob","path":"/a"}])", "error: operation 0: unknown op \"frob\""},
      {"{}", R"([{"op":"add","path":"/a"}])", "error: operation 0: value is missing"},
      {"{}", R"([{"op":"add","value":1}])", "error: operation 0: path is missing"},
      {"{}", R"([1])", "error: operation 0: path is missing"},
      {"{}", R"({"op":"add"})", "error: a JSON patch is a list of operations"},
  };
  for (const Case& c : cases) {
    INFO(c.target << " + " << c.patch);
    CHECK(apply(Kind::operations, c.target, c.patch) == c.result);
  }
}

TEST_CASE("a JSON patch cannot blow up") {
  std::string doubling = "[";
  for (int i = 0; i < 60; ++i) doubling += R"({"op":"copy","from":"","path":"/-"},)";
  doubling.back() = ']';
  CHECK(apply(Kind::operations, "[\"0123456789\"]", doubling).starts_with("error: operation"));

  std::string tower = "[";
  const std::string deep = std::string(900, '[') + std::string(900, ']');
  std::string path;
  for (int i = 0; i < 5; ++i) {
    tower += R"({"op":"add","path":")" + path + R"(/-","value":)" + deep + "},";
    for (int j = 0; j < 900; ++j) path += "/0";
  }
  tower.back() = ']';
  CHECK(apply(Kind::operations, "[]", tower).find("nested deeper than 1000") != std::string::npos);
}

// Each of these would take minutes if look-ups or moves were not counted or indexed.

TEST_CASE("a JSON patch has a budget of work") {
  // Each costs the budget. Under a sanitizer the first does: of the others a tenth is taken, which is
  // allowed.
  const int size = static_cast<int>(test::hostile(20'000)), times = static_cast<int>(test::hostile(10'000));
  const bool all = times == 10'000;
  const auto operations = [](int count, auto&& operation) {
    std::string patch = "[";
    for (int i = 0; i < count; ++i) patch += operation(i) + ",";
    patch.back() = ']';
    return patch;
  };
  const auto list = [](int size) {
    std::string text = "[";
    for (int i = 0; i < size; ++i) text += "0,";
    text.back() = ']';
    return text;
  };
  const std::string wide = [size] {
    std::string text = "{";
    for (int i = 0; i < size; ++i) fmt::format_to(std::back_inserter(text), "\"k{}\":{{}},", i);
    text.back() = '}';
    return text;
  }();
  const std::string nested = fmt::format(R"({{"a":{{"list":{}}},"b":{{"c":{{}}}}}})", list(size));
  struct Row {
    const char* name;
    std::string target, patch;
  };
  const auto fixed = [](std::string text) { return [text](int) { return text; }; };
  const Row rows[] = {
      {"additions at the front of a long list", list(20'000),
       operations(10'000, fixed(R"({"op":"add","path":"/0","value":0})"))},
      {"removals at the front of a long list", list(size),
       operations(times, fixed(R"({"op":"remove","path":"/0"})"))},
      {"moves from the end of a long list to its front", list(size),
       operations(times, fixed(fmt::format(R"({{"op":"move","from":"/{}","path":"/0"}})", size - 1)))},
      {"look-ups in a wide object", wide,
       operations(times,
                  [size](int i) {
                    return fmt::format(R"({{"op":"add","path":"/k{}/x","value":0}})", size - 1 - i);
                  })},
      {"additions to a wide object", wide,
       operations(times,
                  [](int i) { return fmt::format(R"({{"op":"add","path":"/new{}","value":0}})", i); })},
      {"a large value moved to and fro", nested,
       operations(times,
                  [](int i) {
                    return i % 2 == 0 ? std::string(R"({"op":"move","from":"/a","path":"/b/c/a"})")
                                      : std::string(R"({"op":"move","from":"/b/c/a","path":"/a"})");
                  })},
      {"tests in a wide object", wide,
       operations(times,
                  [size](int i) {
                    return fmt::format(R"({{"op":"test","path":"/k{}","value":{{}}}})", size - 1 - i);
                  })},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto done = patched(Kind::operations, row.target, row.patch);
    CHECK(done.has_error() == (all || &row == rows));
    if (!done.has_error()) continue;
    CHECK(done.error().code() == Code::too_large);
    CHECK(done.error().message().find("takes more than 30000000 steps") != std::string::npos);
  }
  CHECK(apply(Kind::operations, "{}", operations(10'001, fixed("0"))) ==
        "error: The allowed maximum operations in a JSON patch is 10000, got 10001");
  // What is honest passes: as many operations as are allowed, on an object of a thousand members.
  std::string honest = "{";
  for (int i = 0; i < 1000; ++i) fmt::format_to(std::back_inserter(honest), "\"k{}\":0,", i);
  honest.back() = '}';
  CHECK(patched(Kind::operations, honest,
                operations(10'000,
                           [](int i) {
                             return fmt::format(R"({{"op":"replace","path":"/k{}","value":{}}})", i % 1000,
                                                i);
                           }))
            .has_value());
}

TEST_CASE("a merge patch of many members is sorted, not searched") {
  const int members = static_cast<int>(test::hostile(25'000));
  std::string target = "{", patch = "{", expected = "{";
  for (int i = 0; i < members; ++i) {
    fmt::format_to(std::back_inserter(target), "\"k{}\":{},", i, i);
    fmt::format_to(std::back_inserter(patch), "\"k{}\":{},", members - 1 - i, i % 2 == 0 ? "null" : "1");
    fmt::format_to(std::back_inserter(patch), "\"n{}\":2,", i);
    if (i % 2 == 0) fmt::format_to(std::back_inserter(expected), "\"k{}\":1,", i);
  }
  for (int i = 0; i < members; ++i) fmt::format_to(std::back_inserter(expected), "\"n{}\":2,", i);
  target.back() = patch.back() = expected.back() = '}';
  const auto result = patched(Kind::merge, target, patch);
  REQUIRE(result.has_value());
  CHECK((to_text(*result) == expected));
  const auto before = parse(target);
  Arena arena;
  const auto made = merge_diff(*before, *result, arena);
  REQUIRE(made.has_value());
  Document again = clone(*before);
  merge_patch(again, *made, again.arena());
  CHECK((again == *result));
}

TEST_CASE("the JSON patch from one value to another names what differs, by its place") {
  struct Row {
    std::string_view before, after, patch;
  };
  for (
      const Row& row : {
          Row{R"({"a":1,"b":[1,2]})", R"({"b":[1,2],"a":1.0})", ""},
          Row{"{}", R"({"a":{"b":null}})", R"([{"op":"add","path":"/a","value":{"b":null}}])"},
          Row{R"({"a":null,"b":1})", R"({"b":"1"})",
              R"([{"op":"remove","path":"/a"},{"op":"replace","path":"/b","value":"1"}])"},
          Row{R"({"a/b":{"~":1,"":2}})", R"({"a/b":{"~":2,"":3}})",
              R"([{"op":"replace","path":"/a~1b/~0","value":2},{"op":"replace","path":"/a~1b/","value":3}])"},
          Row{R"({"a":[]})", R"({"a":{}})", R"([{"op":"replace","path":"/a","value":{}}])"},
          Row{"[1]", "2", R"([{"op":"replace","path":"","value":2}])"},
          // Lists: what both begin and end with is left alone.
          Row{"[1,2,3]", "[1,4,3]", R"([{"op":"replace","path":"/1","value":4}])"},
          Row{"[1,2,3]", "[1,3]", R"([{"op":"remove","path":"/1"}])"},
          Row{"[1,3]", "[1,2,3]", R"([{"op":"add","path":"/1","value":2}])"},
          Row{"[1,1]", "[1,1,1]", R"([{"op":"add","path":"/0","value":1}])"},
          Row{R"([{"n":1},{"n":2}])", R"([{"n":3}])",
              R"([{"op":"replace","path":"/0/n","value":3},{"op":"remove","path":"/1"}])"},
          Row{"[1,2,3,4]", "[]",
              R"([{"op":"remove","path":"/3"},{"op":"remove","path":"/2"},{"op":"remove","path":"/1"},)"
              R"({"op":"remove","path":"/0"}])"},
          Row{"[]", "[1,2]", R"([{"op":"add","path":"/0","value":1},{"op":"add","path":"/1","value":2}])"},
      }) {
    CAPTURE(row.before, row.after);
    const auto before = parse(row.before), after = parse(row.after);
    const std::string patch = json_diff(*before, *after);
    CHECK(patch == row.patch);
    if (patch.empty()) continue;
    const auto result = patched(Kind::operations, row.before, patch);
    REQUIRE(result.has_value());
    CHECK((*result == *after));
  }
}

TEST_CASE("a draft is changed and held against what it came from, which stays as it was") {
  const std::string text =
      R"({"a":{"name":"a text that is long enough to lie somewhere","n":[1,2.5,true,null]},"b":"x"})";
  const auto original = parse(text);
  Document changed = draft(*original);
  CHECK(json_diff(*original, changed).empty());
  CHECK(find(changed, "a", "name")->text().data() == find(*original, "a", "name")->text().data());
  set_text(*find(changed, "a"), "name", "another", changed.arena());
  find(changed, "a", "n")->erase(0);
  CHECK(json_diff(*original, changed) ==
        R"([{"op":"replace","path":"/a/name","value":"another"},{"op":"remove","path":"/a/n/0"}])");
  CHECK(to_text(*original) == text);
}

TEST_CASE("the JSON patch between objects of many members is sorted, not searched") {
  const int members = static_cast<int>(test::hostile(50'000));
  std::string before = "{", after = "{";
  for (int i = 0; i < members; ++i) {
    fmt::format_to(std::back_inserter(before), "\"k{}\":{},", i, i);
    fmt::format_to(std::back_inserter(after), "\"k{}\":{},", members - i, members - i);
  }
  before.back() = after.back() = '}';
  CHECK(
      json_diff(*parse(before), *parse(after)) ==
      fmt::format(R"([{{"op":"remove","path":"/k0"}},{{"op":"add","path":"/k{0}","value":{0}}}])", members));
}

}  // namespace
}  // namespace koord::json
