// Writing JSON text: the one place where values become JSON.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace koord::json {

class Value;

/// Appends the text in quotes, with ", \ and control characters escaped. UTF-8 is written as it is; a byte
/// that belongs to no character becomes U+FFFD, as in Go.
void append_string(std::string& out, std::string_view text);
/// As encoding/json of Go writes it: the fewest digits that read back as the same, no point where there is no
/// fraction. NaN and infinities, which JSON lacks, become null.
void append_number(std::string& out, double value);
/// Compact.
void append(std::string& out, const Value& value);

std::string to_text(const Value& value);
/// `text` as a JSON string with its quotes.
std::string quote(std::string_view text);

/// Appends one JSON value to a string: puts commas, quotes and escapes where they belong. Who calls keeps
/// begin and end in pairs and gives each member a key; nothing else is to be written to the string meanwhile.
///
///   Writer json(out);
///   json.begin_object().member("name", name).key("ports").begin_array();
///   for (const int port : ports) json.value(port);
///   json.end_array().end_object();
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out), start_(out.size()) {}

  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }
  Writer& key(std::string_view name);

  Writer& null() { return raw("null"); }
  template <std::same_as<bool> B>
  Writer& value(B value) {
    return raw(value ? "true" : "false");
  }
  template <std::signed_integral I>
  Writer& value(I value) {
    return integer(value);
  }
  template <std::unsigned_integral U>
    requires(!std::same_as<U, bool>)
  Writer& value(U value) {
    return natural(value);
  }
  Writer& value(double value);
  Writer& value(std::string_view text);
  Writer& value(const std::string& text) { return value(std::string_view(text)); }
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(const Value& value);
  /// One whole value that is JSON already.
  Writer& raw(std::string_view json);

  /// Bytes so far; and everything since they were `size` taken back, a key without its value too.
  std::size_t size() const { return out_.size(); }
  void cut(std::size_t size) { out_.resize(size); }

  template <class T>
  Writer& member(std::string_view name, const T& what) {
    return key(name).value(what);
  }
  /// The member, unless the text is empty.
  Writer& member_if(std::string_view name, std::string_view text) {
    return text.empty() ? *this : member(name, text);
  }

 private:
  // Behind a value comes a comma; a value ends in none of these.
  void separate() {
    if (out_.size() == start_) return;
    const char last = out_.back();
    if (last != '{' && last != '[' && last != ':') out_.push_back(',');
  }
  Writer& open(char bracket) {
    separate();
    out_.push_back(bracket);
    return *this;
  }
  Writer& close(char bracket) {
    out_.push_back(bracket);
    return *this;
  }
  Writer& integer(std::int64_t value);
  Writer& natural(std::uint64_t value);

  std::string& out_;
  const std::size_t start_;
};

}  // namespace koord::json
