// Text of protocol buffers, as much of it as conformance files have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace koord::cel {

struct ProtoField;

/// A message, or a scalar: its text, escapes resolved.
struct Proto {
  std::string text;
  std::vector<ProtoField> fields;

  /// The first of this name; nullptr if there is none.
  const Proto* find(std::string_view name) const;
  std::string at(std::string_view name) const;
};

struct ProtoField {
  std::string first;
  Proto second;
};

inline const Proto* Proto::find(std::string_view name) const {
  for (const auto& [key, value] : fields)
    if (key == name) return &value;
  return nullptr;
}

inline std::string Proto::at(std::string_view name) const {
  const Proto* field = find(name);
  return field ? field->text : std::string();
}

/// The files are well-formed: nothing is checked.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view text) : text_(text) {}

  Proto message(char end = '\0') {
    Proto made;
    while (skip(), at_ < text_.size() && text_[at_] != end) {
      std::string name = word();
      skip();
      if (text_[at_] == ':') ++at_;
      skip();
      made.fields.push_back({std::move(name), value()});
    }
    ++at_;
    return made;
  }

 private:
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ',' || c == ';')
        ++at_;
      else
        return;
    }
  }
  std::string word() {
    if (text_[at_] == '[') {  // a type's URL
      const std::size_t end = text_.find(']', at_);
      std::string url(text_.substr(at_, end + 1 - at_));
      at_ = end + 1;
      return url;
    }
    const std::size_t from = at_;
    while (at_ < text_.size() &&
           std::string_view(" \n\t\r:{}[],;#<>").find(text_[at_]) == std::string_view::npos)
      ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  Proto value() {
    const char c = text_[at_];
    if (c == '{' || c == '<') {
      ++at_;
      return message(c == '{' ? '}' : '>');
    }
    Proto made;
    if (c == '[') {  // a list of one field: its elements are fields without a name
      ++at_;
      while (skip(), text_[at_] != ']') made.fields.push_back({"", value()});
      ++at_;
      return made;
    }
    if (c != '"' && c != '\'') {
      made.text = word();
      return made;
    }
    while (skip(), at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) made.text += quoted();
    return made;
  }
  std::string quoted() {
    const char mark = text_[at_++];
    std::string out;
    while (text_[at_] != mark) {
      if (text_[at_] != '\\') {
        out += text_[at_++];
        continue;
      }
      const char c = text_[at_ + 1];
      at_ += 2;
      static constexpr std::string_view kNames = "abfnrtv", kPlain = "\a\b\f\n\r\t\v";
      if (const std::size_t named = kNames.find(c); named != std::string_view::npos) {
        out += kPlain[named];
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        const auto code =
            static_cast<std::uint32_t>(std::stoul(std::string(text_.substr(at_, digits)), nullptr, 16));
        at_ += digits;
        c == 'x' ? (void)(out += static_cast<char>(code)) : append(out, code);
      } else if (c >= '0' && c <= '7') {
        out += static_cast<char>(std::stoul(std::string(text_.substr(at_ - 1, 3)), nullptr, 8));
        at_ += 2;
      } else {
        out += c;
      }
    }
    ++at_;
    return out;
  }
  static void append(std::string& out, std::uint32_t c) {
    if (c < 0x80) return (void)(out += static_cast<char>(c));
    if (c < 0x800)
      return (void)((out += static_cast<char>(0xC0 | c >> 6)) += static_cast<char>(0x80 | (c & 0x3F)));
    out += static_cast<char>(c < 0x10000 ? 0xE0 | c >> 12 : 0xF0 | c >> 18);
    if (c >= 0x10000) out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    (out += static_cast<char>(0x80 | (c >> 6 & 0x3F))) += static_cast<char>(0x80 | (c & 0x3F));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace koord::cel
