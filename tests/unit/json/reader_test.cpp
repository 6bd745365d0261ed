// Reading JSON text: what is JSON and what is not, where it is kept and where it is skipped.
#include "koord/json/reader.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "koord/json/value.hpp"

using namespace koord;
using namespace koord::json;

namespace {

/// All events as a text; the value of a member "nobody" is skipped.
class Trace final : public Events {
 public:
  std::string text;       // '{', '}', '[', ']', and a line for everything else
  std::string last_text;  // the last string
  bool on_null() override { return add("null"); }
  bool on_bool(bool value) override { return add(value ? "true" : "false"); }
  bool on_number(std::string_view number) override { return add(number); }
  bool on_string(std::string_view value) override { return add(last_text = value); }
  bool on_begin_object() override { return add("{"); }
  bool on_key(std::string_view key) override {
    if (key == "nobody") skip_value();
    return add(key);
  }
  bool on_end_object() override { return add("}"); }
  bool on_begin_array() override { return add("["); }
  bool on_end_array() override { return add("]"); }
  Error stop_error() override { return Error(Code::internal, "nobody stopped it"); }

 private:
  bool add(std::string_view event) {
    (text += event) += '\n';
    return true;
  }
};

Result<std::string> trace(std::string_view json) {
  Trace events;
  KOORD_CHECK(read(json, events));
  return events.text;
}

/// The text as a member's value, once as it is kept and once in a part that is skipped.
std::string kept(const std::string& json) { return "{\"metadata\":{\"name\":" + json + "}}"; }
std::string skipped(const std::string& json) { return "{\"nobody\":{\"wants\":[" + json + "]}}"; }

bool is_read(std::string_view json) { return trace(json).has_value(); }
bool is_document(std::string_view json) { return json::parse(json).has_value(); }

std::string name_of(const std::string& json) {
  Trace events;
  const Result<> done = read(kept(json), events);
  return done ? events.last_text : "error: " + done.error().message();
}

}  // namespace

TEST_CASE("strings are read whatever stands where") {
  struct Case {
    const char *json, *text;
  };
  const Case cases[] = {
      {R"("")", ""},
      {R"("plain")", "plain"},
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {R"("\u0041\u00e9\u20ac\ud83d\ude00")", "A\u00e9\u20ac\U0001f600"},
      {"\"A\u00e9\u20ac\U0001f600\"", "A\u00e9\u20ac\U0001f600"},
      {R"("a\nb\nc")", "a\nb\nc"},
      {R"("\uD83D\uDE00")", "\U0001f600"},
  };
  for (const Case& c : cases) {
    INFO(c.json);
    CHECK(name_of(c.json) == c.text);
    CHECK(is_read(skipped(c.json)));
  }
  CHECK(name_of(R"("\u0000")") == std::string(1, '\0'));
  // Sixteen bytes are looked at together: each special byte once at each place.
  for (size_t length = 0; length < 50; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string text(length, 'x');
      text[at] = '\n';
      std::string json = text;
      json.replace(at, 1, "\\n");
      REQUIRE(name_of('"' + json + '"') == text);
      text.replace(at, 1, "\u20ac");
      REQUIRE(name_of('"' + text + '"') == text);
      for (const char bad : {'\n', '\0', '\xff', '\x80'}) {
        text = std::string(length, 'x');
        text[at] = bad;
        REQUIRE_FALSE(is_read(kept('"' + text + '"')));
        REQUIRE_FALSE(is_read(skipped('"' + text + '"')));
      }
    }
  }
}

TEST_CASE("what is no JSON is refused, also where it is skipped") {
  const char* const cases[] = {"nul",
                               "True",
                               "+1",
                               "-",
                               "01",
                               "-01",
                               "1.",
                               ".5",
                               "1e",
                               "1e+",
                               "0x10",
                               "NaN",
                               "1 2",
                               "[1,]",
                               "[,1]",
                               "[1 2]",
                               "[1}",
                               R"({"a":1,})",
                               "{,}",
                               R"({"a"})",
                               R"({"a" 1})",
                               R"({a:1})",
                               R"({"a":})",
                               R"({"a":1]", R"("a)",
                               R"("\x")",
                               R"("\u12")",
                               R"("\u12g4")",
                               R"("\ud800")",
                               R"("\udc00")",
                               R"("\ud800\u0041")",
                               "\"\xc0\x80\"",
                               "\"\xed\xa0\x80\"",
                               "\"\xf4\x90\x80\x80\"",
                               "\"\xe2\x82\"",
                               "\"\t\"",
                               "'a'",
                               "// x\n1"};
  for (const char* json : cases) {
    INFO(json);
    CHECK_FALSE(is_document(json));
    CHECK_FALSE(is_read(kept(json)));
    CHECK_FALSE(is_read(skipped(json)));
  }
  CHECK_FALSE(is_document(std::string_view("{}\0", 3)));
  CHECK_FALSE(is_document(""));
}

TEST_CASE("every cut of a document is an error, and the document with any space is none") {
  const std::string text =
      R"( { "metadata" : { "name" : "a\u20acb" , "labels" : { "x" : "y" } } , "z" : [ 1 , -0.5e+3 , true , false , null , { } , [ ] , "q" ] } )";
  const auto events = trace(text);
  REQUIRE(events.has_value());
  CHECK(*events ==
        "{\nmetadata\n{\nname\na\u20ac"
        "b\nlabels\n{\nx\ny\n}\n}\n"
        "z\n[\n1\n-0.5e+3\ntrue\nfalse\nnull\n{\n}\n[\n]\nq\n]\n}\n");
  std::string tight;
  for (const char c : text)
    if (c != ' ') tight += c;
  CHECK(*trace(tight) == *events);
  CHECK(is_read("\xef\xbb\xbf" + tight));
  for (size_t length = 0; length < tight.size(); ++length) {
    INFO(length);
    CHECK_FALSE(is_read(tight.substr(0, length)));
    CHECK_FALSE(is_document(tight.substr(0, length)));
  }
}

TEST_CASE("errors of the text tell where") {
  const auto broken = trace("{\"metadata\":\n  {\"name\":\"a\"\n \"uid\":\"b\"}}");
  REQUIRE(broken.has_error());
  CHECK(broken.error().message() == "JSON: line 3, column 2 (byte 28): expected a comma or } after a member");
  CHECK(trace("{} x").error().message() ==
        "JSON: line 1, column 4 (byte 3): unexpected text after the end of the value");
  CHECK(trace(skipped(std::string(400'000, '['))).error().message().find("nested deeper than 1000 levels") !=
        std::string::npos);
}
