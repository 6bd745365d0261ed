// Lists and watch lines.
#include "koord/api/lists/list_decoder.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/api/lists/object_event.hpp"
#include "koord/api/types/core_v1/namespace.hpp"

using namespace koord;
using namespace koord::api;

namespace {

struct Read {
  std::vector<std::string> names;
  std::vector<std::string> errors;
  Result<ListMeta> meta{ListMeta()};
};

Read read(std::string_view text) {
  Read out;
  out.meta = decode_list<Namespace>(
      text, [&](std::shared_ptr<const Namespace> item) { out.names.push_back(item->metadata.name); },
      [&](const Namespace& partial, const Error& error) {
        out.errors.push_back(partial.metadata.name + " " + error.message());
      });
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a list is read item by item") {
  const auto list =
      read(R"({"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"77","continue":"abc",
    "remainingItemCount":5},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","x":[[{}]]},"status":{"phase":"Active"}}],
    "more":[{"items":[{"metadata":{"name":"no"}}]}]})");
  REQUIRE(list.meta.has_value());
  CHECK(list.names == Names{"a", "b"});
  CHECK(list.meta->resource_version == "77");
  CHECK(list.meta->continue_ == "abc");
  CHECK(list.meta->remaining_item_count == 5);
}

TEST_CASE("lists without items") {
  for (const char* text : {R"({"items":[]})", R"({"items":null})", "{}"}) {
    INFO(text);
    const auto list = read(text);
    CHECK(list.meta.has_value());
    CHECK(list.names.empty());
  }
}

TEST_CASE("a bad item does not spoil the others") {
  const auto list =
      read(R"({"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","labels":{"x":[1,{"y":2}]},
    "uid":"u"},"status":{}},7,{"metadata":{"name":"c"}}],"metadata":{"resourceVersion":"1"}})");
  REQUIRE(list.meta.has_value());
  CHECK(list.names == Names{"a", "c"});
  CHECK(list.errors == Names{"b .items[1].metadata.labels[x]: expected a string, got a list",
                             " .items[2]: expected an object, got a number"});
  CHECK(list.meta->resource_version == "1");
}

TEST_CASE("a list that is longer than it may be is read no further") {
  std::string text = R"({"items":[{"metadata":{"name":"a"}},7,)";
  for (const char* next : {R"({"metadata":{"name":"c"}})", "7", "null", "[]", R"("x")", "true"}) {
    INFO(next);
    int items = 0, errors = 0;
    const auto read = [&](std::size_t most) {
      items = errors = 0;
      return decode_list<Namespace>(
          text + next + "]}", [&](const std::shared_ptr<const Namespace>&) { ++items; },
          [&](const Namespace&, const Error&) { ++errors; }, most);
    };
    CHECK(read(3).has_value());
    CHECK(items + errors == 3);
    const auto longer = read(2);
    REQUIRE(longer.has_error());
    CHECK(longer.error().code() == Code::too_large);
    CHECK(items == 1);
    CHECK(errors == 1);
  }
}

TEST_CASE("what is no list is an error") {
  CHECK(read("[]").meta.has_error());
  CHECK(read("7").meta.has_error());
  CHECK(read("\"x\"").meta.has_error());
  CHECK(read("null").meta.has_error());
  CHECK(read(R"({"items":[{"metadata":{"name":"a"}})").meta.has_error());
  CHECK(read(R"({"items":[{"metadata":{"na)").meta.has_error());
  CHECK(read(std::string(400'000, '[')).meta.has_error());
  CHECK(read(R"({"metadata":{"resourceVersion":1}})").meta.error().message() ==
        ".metadata.resourceVersion: expected a string, got a number");
  const auto gone =
      read(R"({"kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410})");
  REQUIRE(gone.meta.has_error());
  CHECK(gone.meta.error().code() == Code::gone);
}

TEST_CASE("watch lines") {
  const auto event = [](std::string_view text) { return decode_watch_line<Namespace>(text); };

  auto added =
      event(R"({"type":"ADDED","object":{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"a"}}})");
  REQUIRE(added.has_value());
  CHECK(added->type == WatchType::added);
  CHECK(added->object->metadata.name == "a");
  CHECK(event(R"({"type":"MODIFIED","object":{}})")->type == WatchType::modified);
  CHECK(event(R"({"type":"DELETED","object":{}})")->type == WatchType::deleted);

  auto turned = event(R"({"object":{"metadata":{"name":"b"}},"type":"ADDED"})");
  REQUIRE(turned.has_value());
  CHECK(turned->object->metadata.name == "b");

  auto bookmark =
      event(R"({"type":"BOOKMARK","object":{"kind":"Namespace","metadata":{"resourceVersion":"99"}}})");
  REQUIRE(bookmark.has_value());
  CHECK(bookmark->type == WatchType::bookmark);
  CHECK(bookmark->object->metadata.resource_version == "99");
  CHECK_FALSE(bookmark->initial_events_end);
  bookmark = event(
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"99","annotations":{"k8s.io/initial-events-end":"true"}}}})");
  CHECK(bookmark->initial_events_end);

  for (
      const char* text :
      {R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}})",
       R"({"object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"},"type":"ERROR"})"}) {
    auto error = event(text);
    REQUIRE(error.has_value());
    CHECK(error->type == WatchType::error);
    CHECK(error->error.code() == Code::gone);
    CHECK(error->error.message() == "too old resource version");
  }
}

TEST_CASE("bad watch lines") {
  struct Case {
    const char *text, *message;
  };
  const Case cases[] = {
      {R"({"type":"FROB","object":{}})", "watch event: unknown type \"FROB\""},
      {R"({"object":{}})", "watch event: unknown type \"\""},
      {R"({"type":"ADDED"})", "watch event: no object"},
      {R"({"type":"ADDED","object":7})", ".object: expected an object, got a number"},
      {R"({"type":"ADDED","object":{"metadata":{"name":{}}}})",
       ".object.metadata.name: expected a string, got an object"},
      {R"({"type":"ADDED","object":{"kind":"Pod"}})", ".object.kind: expected \"Namespace\", got \"Pod\""},
      {"[]", "expected an object"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const auto event = decode_watch_line<Namespace>(c.text);
    REQUIRE(event.has_error());
    CHECK(event.error().message() == c.message);
  }
  const std::string line = R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})";
  for (size_t n = 0; n < line.size(); ++n) CHECK(decode_watch_line<Namespace>(line.substr(0, n)).has_error());
}

TEST_CASE("of an object with a value of the wrong type it is known which one it is") {
  for (const char* type : {"ADDED", "MODIFIED", "DELETED"}) {
    Namespace object;
    const auto event = decode_object_event(
        fmt::format(R"({{"type":"{}","object":{{"metadata":{{"name":"a","uid":"u","resourceVersion":"7"}},)"
                    R"("status":7}}}})",
                    type),
        schema<Namespace>(), &object);
    REQUIRE(event.has_value());
    REQUIRE(event->malformed);
    CHECK(event->malformed->message() == ".object.status: expected an object, got a number");
    CHECK(object.metadata.name == "a");
    CHECK(object.metadata.uid == "u");
    CHECK(object.metadata.resource_version == "7");
  }
  Namespace object;
  CHECK(decode_object_event(R"({"type":"BOOKMARK","object":{"metadata":7}})", schema<Namespace>(), &object)
            .has_error());
  CHECK(decode_object_event(R"({"type":"ERROR","object":{"code":"x"}})", schema<Namespace>(), &object)
            .has_error());
}

TEST_CASE("a Status becomes the error that it means") {
  struct Case {
    int http;
    const char* body;
    Code code;
    const char* message;
  };
  const Case cases[] = {
      {404,
       R"({"kind":"Status","status":"Failure","message":"pods \"x\" not found","reason":"NotFound","code":404})",
       Code::not_found, "pods \"x\" not found"},
      {409, R"({"kind":"Status","message":"exists","reason":"AlreadyExists","code":409})",
       Code::already_exists, "exists"},
      {409, R"({"kind":"Status","message":"changed","reason":"Conflict","code":409})", Code::conflict,
       "changed"},
      {410, R"({"kind":"Status","message":"old","reason":"Gone"})", Code::gone, "old"},
      {422, R"({"kind":"Status","message":"bad","reason":"Invalid","details":{"causes":[{"field":"spec"}]}})",
       Code::invalid, "bad"},
      {500, R"({"kind":"Status","message":"x","reason":"SomethingNew","code":503})", Code::unavailable, "x"},
      {403, "forbidden by a proxy\n", Code::forbidden, "HTTP status 403: forbidden by a proxy"},
      {502, "<html>\x01\xff</html>", Code::unavailable, "HTTP status 502: <html>  </html>"},
      {504, "", Code::timeout, "HTTP status 504"},
      {507, "{}", Code::server_error, "HTTP status 507: {}"},
      {418, "", Code::bad_request, "HTTP status 418"},
  };
  for (const Case& c : cases) {
    INFO(c.http << " " << c.body);
    const Error error = error_of_response(c.http, c.body);
    CHECK(error.code() == c.code);
    CHECK(error.message() == c.message);
  }
  CHECK(error_of_response(500, std::string(400'000, '[')).code() == Code::server_error);
  const Error slow = error_of_response(
      429,
      R"({"kind":"Status","message":"slow down","reason":"TooManyRequests","details":{"retryAfterSeconds":3},"code":429})");
  CHECK(slow.code() == Code::too_many_requests);
  CHECK(slow.retry_after() == std::chrono::seconds(3));
}
