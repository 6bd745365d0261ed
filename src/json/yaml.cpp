// yaml-cpp's nodes, walked once.
#include "koord/json/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "koord/json/writer.hpp"
#include "scan.hpp"

namespace koord::json {
namespace {

constexpr std::size_t kMaxJson = 16 << 20;
/// Of a document whose lines are asked for, which is a configuration: each place has its path in memory.
constexpr std::size_t kMaxPlaces = 1 << 16;
constexpr int kMaxNesting = 100;

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (text == word) return true;
  return false;
}

bool all_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

// 0x1f, 0o17, 0b11, 0644 and 12 in decimal; empty if it is none of these or beyond 64 bits.
std::string integer(std::string_view text) {
  const std::string_view sign = text.starts_with('-') ? "-" : "";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = text[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    text.remove_prefix(base == 8 && mark != 'o' && mark != 'O' ? 1 : 2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return std::string(value == 0 ? "" : sign) + std::to_string(value);
}

// A decimal number by JSON's grammar: no '+', no leading zeros, digits on both sides of the point. One beyond
// a double is none but a text, as Go's readers have it.
std::string decimal(std::string_view text) {
  std::string out = text.starts_with('-') ? "-" : "";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  std::string_view exponent;
  if (const auto e = text.find_first_of("eE"); e != std::string_view::npos) {
    exponent = text.substr(e);
    text = text.substr(0, e);
    const bool is_signed = exponent.size() > 1 && (exponent[1] == '+' || exponent[1] == '-');
    const std::string_view digits = exponent.substr(is_signed ? 2 : 1);
    if (digits.empty() || !all_digits(digits)) return {};
  }
  const auto point = text.find('.');
  std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
  if (!all_digits(whole) || !all_digits(fraction) || (whole.empty() && fraction.empty())) return {};
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  out += whole.empty() ? "0" : whole;
  if (!fraction.empty()) (out += '.') += fraction;
  out += exponent;
  if (std::isinf(std::strtod(out.c_str(), nullptr))) return {};
  return out;
}

// yaml-cpp (0.7) writes the escapes \N and \_ as the single bytes 0x85 and 0xa0, which is no UTF-8. All else
// is, so that such a byte cannot be part of a character.
std::string whole_characters(const std::string& text) {
  std::string whole;
  std::size_t plain = 0;  // start of what is not copied yet
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const int length = utf8_length(at, end);
    if (length == 0) {
      const auto i = static_cast<std::size_t>(at - text.data());
      whole.append(text, plain, i - plain).append("\xc2");
      plain = i;
    }
    at += std::max(length, 1);
  }
  if (whole.empty()) return text;
  return whole.append(text, plain);
}

class Converter {
 public:
  Converter(LineMap* lines, int first_line) : lines_(lines), first_line_(first_line) {}

  Error at(const YAML::Mark& mark, const std::string& what) const {
    return Error(Code::parse, std::to_string(line(mark)) + ": " + what);
  }

  Result<> value(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > kMaxNesting) return at(node.Mark(), "nested too deeply");
    if (out.size() > kMaxJson) return at(node.Mark(), "the document unfolds to more than 16 MiB");
    if (lines_) {
      if (lines_->size() >= kMaxPlaces)
        return at(node.Mark(), "the document unfolds to more than 65536 values");
      lines_->try_emplace(path, line(node.Mark()));
    }
    switch (node.Type()) {
      case YAML::NodeType::Map: return map(node, path, depth);
      case YAML::NodeType::Sequence: return sequence(node, path, depth);
      case YAML::NodeType::Scalar: return scalar(node);
      default: out += "null"; return {};
    }
  }

  std::string out;

 private:
  int line(const YAML::Mark& mark) const { return std::max(mark.line, 0) + first_line_; }

  Result<> map(const YAML::Node& node, const std::string& path, int depth) {
    std::set<std::string> seen;
    out += '{';
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return at(entry.first.Mark(), "a key must be a text");
      const std::string key = whole_characters(entry.first.Scalar());
      const std::string below = path + "." + key;
      if (!seen.insert(key).second) return at(entry.first.Mark(), below + ": the key is there twice");
      if (seen.size() > 1) out += ',';
      append_string(out, key);
      out += ':';
      if (lines_) lines_->try_emplace(below, line(entry.first.Mark()));
      KOORD_CHECK(value(entry.second, below, depth + 1));
    }
    out += '}';
    return {};
  }

  Result<> sequence(const YAML::Node& node, const std::string& path, int depth) {
    out += '[';
    std::size_t index = 0;
    for (const YAML::Node& item : node) {
      if (index > 0) out += ',';
      KOORD_CHECK(value(item, path + "[" + std::to_string(index) + "]", depth + 1));
      ++index;
    }
    out += ']';
    return {};
  }

  Result<> scalar(const YAML::Node& node) {
    const std::string text = whole_characters(node.Scalar());
    // "?" is plain, "!" quoted, anything else an explicit tag.
    if (!one_of(node.Tag(), {"?", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float",
                             "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"})) {
      append_string(out, text);
      return {};
    }
    if (one_of(text, {"", "~", "null", "Null", "NULL"})) {
      out += "null";
    } else if (one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) {
      out += "true";
    } else if (one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
      out += "false";
    } else if (one_of(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
                             ".nan", ".NaN", ".NAN"})) {
      return at(node.Mark(), "JSON has no number \"" + text + "\"");
    } else if (const std::string number = as_number(text); !number.empty()) {
      out += number;
    } else {
      append_string(out, text);
    }
    return {};
  }

  static std::string as_number(std::string_view text) {
    if (std::string_view("+-.0123456789").find(text.front()) == std::string_view::npos) return {};
    std::string digits;
    for (const char c : text)
      if (c != '_') digits += c;
    if (std::string whole = integer(digits); !whole.empty()) return whole;
    return decimal(digits);
  }

  LineMap* lines_;
  int first_line_;
};

// A pass before any node is made. It refuses what yaml-cpp's loading does not tell or does not end with: its
// own limit of nesting names no place, and a document that begins with a comma is empty, like the next one,
// for ever.
class Survey : public YAML::EventHandler {
 public:
  struct Refusal {
    YAML::Mark mark;
    const char* what;
  };

  void OnDocumentStart(const YAML::Mark&) override { ++documents_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { node(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { node(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
    node(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnSequenceEnd() override { --open_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnMapEnd() override { --open_; }

 private:
  void node(const YAML::Mark& mark) {
    if (documents_ > 1 && mark.pos == first_) throw Refusal{mark, "no value can begin with this"};
    if (documents_ > 1) throw Refusal{mark, "a second document, only one is expected"};
    if (first_ < 0) first_ = mark.pos;
  }
  void enter(const YAML::Mark& mark) {
    node(mark);
    if (open_++ > kMaxNesting) throw Refusal{mark, "nested too deeply"};
  }

  int documents_ = 0;
  int first_ = -1;  // where the first document's value is
  int open_ = 0;
};

// The line in the text, from 0, of the first byte that is no UTF-8, or is zero: yaml-cpp would take the text
// for UTF-16 or UTF-32, unchecked.
std::optional<int> bad_utf8(std::string_view text) {
  int line = 0;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const int length = utf8_length(at, end);
    if (length == 0 || *at == '\0') return line;
    if (*at == '\n') ++line;
    at += length;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> yaml_to_json(std::string_view text, LineMap* lines, int first_line) {
  if (const auto line = bad_utf8(text))
    return Error(Code::parse, std::to_string(*line + first_line) + ": the text is not UTF-8");
  Converter converter(lines, first_line);
  try {
    const std::string copy(text);
    std::istringstream stream(copy);
    YAML::Parser parser(stream);
    Survey survey;
    while (parser.HandleNextDocument(survey)) {
    }
    KOORD_CHECK(converter.value(YAML::Load(copy), "", 0));
  } catch (const Survey::Refusal& refusal) {
    return converter.at(refusal.mark, refusal.what);
  } catch (const YAML::Exception& e) {
    return converter.at(e.mark.is_null() ? YAML::Mark() : e.mark, e.msg);
  }
  return std::move(converter.out);
}

}  // namespace koord::json
