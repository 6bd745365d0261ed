// YAML documents as JSON text, through yaml-cpp's nodes.
#include "sandbox/load/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <set>

#include "sandbox/json/dom.hpp"

namespace koord::sandbox {
namespace {

constexpr int kMaxDepth = 100;

class Converter {
 public:
  Result<> convert(const YAML::Node& node, int depth) {
    if (depth > kMaxDepth) return Error(Code::parse, "nested too deeply");
    if (++nodes_ > 2'000'000) return Error(Code::parse, "too many nodes (aliases that multiply?)");
    switch (node.Type()) {
      case YAML::NodeType::Map: return map(node, depth);
      case YAML::NodeType::Sequence: {
        out_ += '[';
        bool first = true;
        for (const auto& item : node) {
          if (!std::exchange(first, false)) out_ += ',';
          KOORD_CHECK(convert(item, depth + 1));
        }
        out_ += ']';
        return {};
      }
      case YAML::NodeType::Scalar: scalar(node); return {};
      default: out_ += "null"; return {};
    }
  }
  std::string take() { return std::move(out_); }

 private:
  Result<> map(const YAML::Node& node, int depth) {
    out_ += '{';
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar())
        return Error(Code::parse,
                     fmt::format("line {}: a key must be a scalar", entry.first.Mark().line + 1));
      const std::string& key = entry.first.Scalar();
      if (!seen.insert(key).second)
        return Error(Code::parse, fmt::format("line {}: key {} already set in map",
                                              entry.first.Mark().line + 1, quote_json(key)));
      if (seen.size() > 1) out_ += ',';
      out_ += quote_json(key);
      out_ += ':';
      KOORD_CHECK(convert(entry.second, depth + 1));
    }
    out_ += '}';
    return {};
  }

  void scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") {  // quoted
      out_ += quote_json(text);
      return;
    }
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
      out_ += "null";
    } else if (text == "true" || text == "True" || text == "TRUE") {
      out_ += "true";
    } else if (text == "false" || text == "False" || text == "FALSE") {
      out_ += "false";
    } else if (!number(text)) {
      out_ += quote_json(text);
    }
  }

  bool number(std::string_view text) {
    std::int64_t whole = 0;
    std::string_view digits = text.front() == '+' ? text.substr(1) : text;
    int base = 10;
    if (digits.starts_with("0x")) {
      digits.remove_prefix(2);
      base = 16;
    } else if (digits.starts_with("0o")) {
      digits.remove_prefix(2);
      base = 8;
    } else if (digits.size() > 1 && digits.front() == '0' &&
               digits.find_first_not_of("01234567") == digits.npos) {
      base = 8;  // YAML 1.1, as file modes are written
    }
    if (digits.empty()) return false;
    auto end = digits.data() + digits.size();
    if (auto [stop, error] = std::from_chars(digits.data(), end, whole, base);
        error == std::errc() && stop == end) {
      out_ += std::to_string(whole);
      return true;
    }
    double real = 0;
    auto [stop, error] = std::from_chars(digits.data(), end, real);
    char last = text.back(), front = digits.front() == '-' && digits.size() > 1 ? digits[1] : digits.front();
    if (error != std::errc() || stop != end || !(front >= '0' && front <= '9') ||
        !(last >= '0' && last <= '9'))
      return false;
    out_ += fmt::format("{}", real);
    return true;
  }

  std::string out_;
  std::size_t nodes_ = 0;
};

}  // namespace

Result<std::string> yaml_to_json(std::string_view text) {
  try {
    YAML::Node node = YAML::Load(std::string(text));
    Converter converter;
    KOORD_CHECK(converter.convert(node, 0));
    return converter.take();
  } catch (const YAML::Exception& error) {
    return Error(Code::parse, error.mark.is_null()
                                  ? error.msg
                                  : fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
}

}  // namespace koord::sandbox
