#include "json_read.hpp"

#include <fmt/format.h>

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include "koord/api/codec.hpp"

namespace koord::api {
namespace {

// What RapidJSON calls; counts the depth, which its iterative mode does not bound.
class Adapter {
 public:
  explicit Adapter(JsonEvents& events) : events_(events) {}

  bool Null() { return events_.on_null(); }
  bool Bool(bool value) { return events_.on_bool(value); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return events_.on_number({text, size}); }
  bool String(const char* text, rapidjson::SizeType size, bool) { return events_.on_string({text, size}); }
  bool Key(const char* text, rapidjson::SizeType size, bool) { return events_.on_key({text, size}); }
  bool StartObject() { return enter() && events_.on_begin_object(); }
  bool StartArray() { return enter() && events_.on_begin_array(); }
  bool EndObject(rapidjson::SizeType) {
    --depth_;
    return events_.on_end_object();
  }
  bool EndArray(rapidjson::SizeType) {
    --depth_;
    return events_.on_end_array();
  }
  // Numbers are asked for as text, so these are never called.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  bool too_deep() const { return depth_ > kMaxJsonDepth; }

 private:
  bool enter() { return ++depth_ <= kMaxJsonDepth; }

  JsonEvents& events_;
  int depth_ = 0;
};

std::string position(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  size_t line = 1, start = 0;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  return fmt::format("line {}, column {} (byte {})", line, offset - start + 1, offset);
}

}  // namespace

Result<> read_json(std::string_view text, JsonEvents& events) {
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseStopWhenDoneFlag;
  // A null pointer is no valid range for the stream.
  rapidjson::MemoryStream bytes(text.data() ? text.data() : "", text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  rapidjson::Reader reader;
  Adapter adapter(events);
  const rapidjson::ParseResult done = reader.Parse<kFlags>(stream, adapter);
  if (done) {
    // A NUL ends RapidJSON's streams, so what follows the value is looked at here.
    const size_t rest = text.find_first_not_of(" \t\r\n", stream.Tell());
    if (rest == std::string_view::npos) return {};
    return Error(Code::parse, fmt::format("JSON: {}: more text after the value", position(text, rest)));
  }
  if (adapter.too_deep())
    return Error(Code::parse, fmt::format("JSON: {}: nested deeper than {} levels",
                                          position(text, stream.Tell()), kMaxJsonDepth));
  if (done.Code() == rapidjson::kParseErrorTermination) return events.stop_error();
  return Error(Code::parse, fmt::format("JSON: {}: {}", position(text, done.Offset()),
                                        rapidjson::GetParseError_En(done.Code())));
}

}  // namespace koord::api
