// JSON pointers into documents.
#include "koord/json/pointer.hpp"

#include <catch2/catch.hpp>

#include "koord/json/writer.hpp"

namespace koord::json {
namespace {

TEST_CASE("pointers read") {
  const auto d = parse(R"({"a":{"b/c":"s","d~":7,"e":[10,{"f":true}]},"n":null})");
  REQUIRE(d.has_value());
  CHECK(find_path(*d, "/a/b~1c")->text() == "s");
  CHECK(find_path(*d, "/a/d~0")->to_int() == 7);
  CHECK(find_path(*d, "/a/e/0")->to_int() == 10);
  CHECK(find_path(*d, "/a/e/1/f")->is_true());
  CHECK(find_path(*d, "/n")->is_null());
  CHECK(find_path(*d, "") == &static_cast<const Value&>(*d));
  for (const char* nowhere : {"/a/e/2", "/a/e/01", "/a/e/-", "a", "/a/b~2c", "/n/x"}) {
    CAPTURE(nowhere);
    CHECK(find_path(*d, nowhere) == nullptr);
  }
}

TEST_CASE("pointers write") {
  Document d;
  Arena& arena = d.arena();
  CHECK(put_path(d, "/metadata/labels/app.kubernetes.io~1name", make_const("x"), arena).has_value());
  CHECK(put_path(d, "/spec/replicas", Value(3), arena).has_value());
  CHECK(put_path(d, "/spec/list", Value::array(), arena).has_value());
  CHECK(put_path(d, "/spec/list/-", Value(1), arena).has_value());
  CHECK(put_path(d, "/spec/list/-", Value(true), arena).has_value());
  CHECK(put_path(d, "/spec/list/0", Value(5), arena).has_value());
  CHECK(to_text(d) ==
        R"({"metadata":{"labels":{"app.kubernetes.io/name":"x"}},"spec":{"replicas":3,"list":[5,true]}})");
  CHECK(put_path(d, "/spec/list/9", Value(1), arena).has_error());
  CHECK(put_path(d, "/spec/replicas/x", Value(1), arena).has_error());
  CHECK(remove_path(d, "/spec/list/0"));
  CHECK(remove_path(d, "/spec/replicas"));
  CHECK_FALSE(remove_path(d, "/spec/replicas"));
  CHECK_FALSE(remove_path(d, "/spec/list/7"));
  CHECK(to_text(*find_path(d, "/spec")) == R"({"list":[true]})");
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "/a";
  CHECK(put_path(d, deep, Value(1), arena).has_error());
}

}  // namespace
}  // namespace koord::json
