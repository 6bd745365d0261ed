// Reading JSON text: what is JSON and what is not, where it is kept and where it is skipped.
#include <catch2/catch.hpp>
#include <string>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/value.hpp"

using namespace koord;
using namespace koord::api;

namespace {

/// The text as a pod's name, once as it is kept and once in a part that is skipped.
std::string kept(const std::string& json) { return "{\"metadata\":{\"name\":" + json + "}}"; }
std::string skipped(const std::string& json) { return "{\"nobody\":{\"wants\":[" + json + "]}}"; }

bool is_pod(std::string_view json) { return decode<Pod>(json).has_value(); }
bool is_document(std::string_view json) { return json::parse(json).has_value(); }

std::string name_of(const std::string& json) {
  const auto pod = decode<Pod>(kept(json));
  return pod ? pod->metadata.name : "error: " + pod.error().message();
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
    CHECK(is_pod(skipped(c.json)));
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
        REQUIRE_FALSE(is_pod(kept('"' + text + '"')));
        REQUIRE_FALSE(is_pod(skipped('"' + text + '"')));
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
    CHECK_FALSE(is_pod(kept(json)));
    CHECK_FALSE(is_pod(skipped(json)));
  }
  CHECK_FALSE(is_document(std::string_view("{}\0", 3)));
  CHECK_FALSE(is_document(""));
}

TEST_CASE("every cut of a document is an error, and the document with any space is none") {
  const std::string text =
      R"( { "metadata" : { "name" : "a\u20acb" , "labels" : { "x" : "y" } } , "z" : [ 1 , -0.5e+3 , true , false , null , { } , [ ] , "q" ] } )";
  const auto pod = decode<Pod>(text);
  REQUIRE(pod.has_value());
  CHECK(pod->metadata.name ==
        "a\u20ac"
        "b");
  std::string tight;
  for (const char c : text)
    if (c != ' ') tight += c;
  CHECK((*decode<Pod>(tight) == *pod));
  CHECK(is_pod("\xef\xbb\xbf" + tight));
  for (size_t length = 0; length < tight.size(); ++length) {
    INFO(length);
    CHECK_FALSE(is_pod(tight.substr(0, length)));
    CHECK_FALSE(is_document(tight.substr(0, length)));
  }
}

TEST_CASE("errors of the text tell where") {
  const auto pod = decode<Pod>("{\"metadata\":\n  {\"name\":\"a\"\n \"uid\":\"b\"}}");
  REQUIRE(pod.has_error());
  CHECK(pod.error().message() == "JSON: line 3, column 2 (byte 28): expected a comma or } after a member");
  CHECK(decode<Pod>("{} x").error().message() ==
        "JSON: line 1, column 4 (byte 3): more text after the value");
  CHECK(decode<Pod>(skipped(std::string(400'000, '[')))
            .error()
            .message()
            .find("nested deeper than 1000 levels") != std::string::npos);
}
