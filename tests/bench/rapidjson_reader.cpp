// RapidJSON's reader behind json::read, used as well as it can be: the trial that src/README.md cites. It is
// linked in place of the module's own reader, so that all else of a measurement is the same. The text must be
// writable, ended by a NUL and followed by 16 bytes that may be read: it is parsed in place.
#define RAPIDJSON_SSE2
#include <emmintrin.h>
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <cstdlib>

#include "json/scan.hpp"
#include "koord/json/deep_reader.hpp"
#include "koord/json/reader.hpp"

namespace koord::json {
namespace {

/// One pass over the whole text, sixteen bytes at a time where it is ASCII.
bool is_utf8(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (end - at >= 16 && _mm_movemask_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) == 0) {
      at += 16;
      continue;
    }
    const int length = utf8_length(at, end);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

/// Passes events on, keeps the depth limit and drops what nobody wants.
class Handler {
 public:
  explicit Handler(Events& events) : events_(events) {}

  bool Null() { return skips() || events_.on_null(); }
  bool Bool(bool value) { return skips() || events_.on_bool(value); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    return skips() || events_.on_number({text, size});
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return skips() || events_.on_string({text, size});
  }
  bool StartObject() { return enter() && (inside_skipped() || events_.on_begin_object()); }
  bool StartArray() { return enter() && (inside_skipped() || events_.on_begin_array()); }
  bool EndObject(rapidjson::SizeType) { return leave() || events_.on_end_object(); }
  bool EndArray(rapidjson::SizeType) { return leave() || events_.on_end_array(); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (skip_from_ >= 0) return true;
    if (!events_.on_key({text, size})) return false;
    if (events_.take_skip()) skip_from_ = depth_;
    return true;
  }
  // Numbers come raw.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  /// A scalar: true if it is skipped, and with it all that was to be.
  bool skips() {
    if (skip_from_ < 0) return false;
    if (skip_from_ == depth_) skip_from_ = -1;
    return true;
  }
  bool enter() { return ++depth_ <= kMaxDepth; }
  bool inside_skipped() const { return skip_from_ >= 0; }
  bool leave() {
    --depth_;
    if (skip_from_ < 0) return false;
    if (skip_from_ == depth_) skip_from_ = -1;
    return true;
  }

  Events& events_;
  int depth_ = 0;
  int skip_from_ = -1;
};

}  // namespace

Result<> read(std::string_view text, Events& events) {
  if (!is_utf8(text)) return Error(Code::parse, "JSON: no UTF-8");
  rapidjson::InsituStringStream stream(const_cast<char*>(text.data()));
  rapidjson::Reader reader;
  Handler handler(events);
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag;
  // Recursive, which is the faster way: the handler ends it at the depth limit.
  const bool iterative = std::getenv("KOORD_ITERATIVE") != nullptr;
  const auto done = iterative ? reader.Parse<kFlags | rapidjson::kParseIterativeFlag>(stream, handler)
                              : reader.Parse<kFlags>(stream, handler);
  if (done) return {};
  if (done.Code() == rapidjson::kParseErrorTermination) return events.stop_error();
  return Error(Code::parse, fmt::format("JSON: byte {}: {}", done.Offset(), GetParseError_En(done.Code())));
}

// RapidJSON has no limit of depth of its own; nothing that is measured is deep.
Result<> read_listed(std::string_view text, Events& events) { return read(text, events); }

}  // namespace koord::json
