// A reader of our own: strings without escapes are handed over where they lie, and found sixteen bytes at a
// time.
#include "koord/json/reader.hpp"

#include "koord/json/deep_reader.hpp"

#include <fmt/format.h>

#include <bitset>
#include <string>

#include "position.hpp"
#include "scan.hpp"

namespace koord::json {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
    return;
  }
  if (code < 0x800) {
    out.push_back(static_cast<char>(0xc0 | code >> 6));
  } else {
    if (code < 0x10000) {
      out.push_back(static_cast<char>(0xe0 | code >> 12));
    } else {
      out.push_back(static_cast<char>(0xf0 | code >> 18));
      out.push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
    }
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
  }
  out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
}

class Reader {
 public:
  Reader(std::string_view text, Events& events, int deepest)
      : text_(text),
        at_(text.data()),
        end_(text.data() + text.size()),
        events_(events),
        deepest_(static_cast<size_t>(deepest)) {
    if (text.starts_with("\xef\xbb\xbf")) at_ += 3;  // the mark that some editors write
  }

  Result<> read() {
    skip_space();
    if (at_ == end_) {
      fail("the document is empty");
    } else if (value<true>()) {
      skip_space();
      if (at_ == end_) return {};
      fail("unexpected text after the end of the value");
    }
    if (what_.empty()) return events_.stop_error();
    return Error(Code::parse, fmt::format("JSON: {}: {}",
                                          position(text_, static_cast<size_t>(at_ - text_.data())), what_));
  }

 private:
  enum class Next { value, key, after };

  /// One value, whatever it contains, in one loop. Without kTell it is only checked.
  template <bool kTell>
  bool value() {
    const size_t outer = depth_;
    Next next = Next::value;
    for (;;) {
      skip_space();
      if (at_ == end_) return fail("the text ends too early");
      switch (next) {
        case Next::value:
          next = Next::after;
          switch (*at_) {
            case '"': {
              std::string_view string;
              if (!read_string<kTell>(string) || !tell<kTell>(&Events::on_string, string)) return false;
              break;
            }
            case '{':
              if (!enter(true) || !tell<kTell>(&Events::on_begin_object)) return false;
              skip_space();
              if (at_ == end_ || *at_ != '}') next = Next::key;
              break;
            case '[':
              if (!enter(false) || !tell<kTell>(&Events::on_begin_array)) return false;
              skip_space();
              if (at_ == end_ || *at_ != ']') next = Next::value;
              break;
            case 't':
              if (!word("true") || !tell<kTell>(&Events::on_bool, true)) return false;
              break;
            case 'f':
              if (!word("false") || !tell<kTell>(&Events::on_bool, false)) return false;
              break;
            case 'n':
              if (!word("null") || !tell<kTell>(&Events::on_null)) return false;
              break;
            default: {
              std::string_view number;
              if (!read_number(number) || !tell<kTell>(&Events::on_number, number)) return false;
            }
          }
          if (next != Next::after || depth_ != outer) break;
          return true;
        case Next::key: {
          if (*at_ != '"') return fail("expected a member's name");
          std::string_view key;
          if (!read_string<kTell>(key)) return false;
          skip_space();
          if (at_ == end_ || *at_ != ':') return fail("expected a colon after a member's name");
          ++at_;
          next = Next::value;
          if constexpr (kTell) {
            if (!events_.on_key(key)) return false;
            if (!events_.take_skip()) break;
            skip_space();
            if (at_ == end_) return fail("the text ends too early");
            if (!value<false>()) return false;
            next = Next::after;
          }
          break;
        }
        case Next::after:
          if (*at_ == ',') {
            ++at_;
            next = object_[depth_ - 1] ? Next::key : Next::value;
          } else if (object_[depth_ - 1]) {
            if (*at_ != '}') return fail("expected a comma or } after a member");
            ++at_;
            --depth_;
            if (!tell<kTell>(&Events::on_end_object)) return false;
          } else {
            if (*at_ != ']') return fail("expected a comma or ] after an element");
            ++at_;
            --depth_;
            if (!tell<kTell>(&Events::on_end_array)) return false;
          }
          if (depth_ == outer) return true;
          break;
      }
    }
  }

  template <bool kTell, class Event, class... Args>
  bool tell(Event event, Args... args) {
    if constexpr (kTell) return (events_.*event)(args...);
    return true;
  }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool enter(bool object) {
    if (depth_ == deepest_) return fail(fmt::format("nested deeper than {} levels", deepest_));
    ++at_;
    object_[depth_++] = object;
    return true;
  }

  bool word(std::string_view expected) {
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(expected))
      return fail("no JSON value");
    at_ += expected.size();
    return true;
  }

  bool digits() {
    const char* const first = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != first;
  }

  bool read_number(std::string_view& number) {
    const char* const first = at_;
    if (*at_ == '-') ++at_;
    const char* const whole = at_;
    if (!digits()) return fail(whole == first ? "no JSON value" : "a number without digits");
    if (*whole == '0' && at_ - whole > 1) {
      at_ = whole + 1;
      return fail("a number with leading zeros");
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!digits()) return fail("a number without digits after the point");
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return fail("a number without digits in its exponent");
    }
    number = {first, static_cast<size_t>(at_ - first)};
    return true;
  }

  /// From its quote. With escapes it is put together in unescaped_, else it is where the text is.
  template <bool kTell>
  bool read_string(std::string_view& string) {
    const char* plain = ++at_;  // start of what is not copied yet
    bool escaped = false;
    for (;;) {
      at_ = find_special(at_, end_);
      if (at_ == end_) return fail("a string without end");
      if (*at_ == '"') break;
      if (*at_ == '\\') {
        if (kTell && !std::exchange(escaped, true)) unescaped_.clear();
        if (kTell) unescaped_.append(plain, at_);
        if (!read_escape<kTell>()) return false;
        plain = at_;
      } else {
        const int length = static_cast<unsigned char>(*at_) < 0x20 ? 0 : utf8_length(at_, end_);
        if (length == 0) return fail("a string with a control character or invalid UTF-8");
        at_ += length;
      }
    }
    if (kTell && escaped) {
      unescaped_.append(plain, at_);
      string = unescaped_;
    } else {
      string = {plain, static_cast<size_t>(at_ - plain)};
    }
    ++at_;
    return true;
  }

  template <bool kTell>
  bool read_escape() {
    if (++at_ == end_) return fail("a string without end");
    char c = *at_;
    switch (c) {
      case '"':
      case '\\':
      case '/': break;
      case 'b': c = '\b'; break;
      case 'f': c = '\f'; break;
      case 'n': c = '\n'; break;
      case 'r': c = '\r'; break;
      case 't': c = '\t'; break;
      case 'u': {
        ++at_;
        uint32_t code = 0;
        if (!read_hex(code)) return false;
        if (code >= 0xdc00 && code < 0xe000) return fail("half of a surrogate pair");
        if (code >= 0xd800 && code < 0xdc00) {
          uint32_t low = 0;
          if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') return fail("half of a surrogate pair");
          at_ += 2;
          if (!read_hex(low)) return false;
          if (low < 0xdc00 || low >= 0xe000) return fail("half of a surrogate pair");
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        if (kTell) append_utf8(unescaped_, code);
        return true;
      }
      default: return fail("an unknown escape in a string");
    }
    if (kTell) unescaped_.push_back(c);
    ++at_;
    return true;
  }

  bool read_hex(uint32_t& code) {
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ == end_ ? '\0' : *at_;
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return fail("four hexadecimal digits are wanted after \\u");
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    return true;
  }

  bool fail(std::string what) {
    what_ = std::move(what);
    return false;
  }

  const std::string_view text_;
  const char* at_;
  const char* const end_;
  Events& events_;
  const size_t deepest_;
  std::bitset<kMaxListedDepth> object_;  // of each open container: whether it is an object
  size_t depth_ = 0;
  std::string unescaped_;
  std::string what_;
};

}  // namespace

namespace {

Result<> read_up_to(int deepest, std::string_view text, Events& events) {
  if (text.data() == nullptr) text = "";  // pointers are compared below
  (void)events.take_skip();
  return Reader(text, events, deepest).read();
}

}  // namespace

Result<> read(std::string_view text, Events& events) { return read_up_to(kMaxDepth, text, events); }
Result<> read_listed(std::string_view text, Events& events) {
  return read_up_to(kMaxListedDepth, text, events);
}

}  // namespace koord::json
