// Header fields, query parameters and percent-decoding.
#include "koord/net/message.hpp"

#include <algorithm>

#include "koord/base/utf8.hpp"

namespace koord::net {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void Headers::add(std::string_view name, std::string_view value) {
  fields_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(name.size()),
                     static_cast<std::uint32_t>(value.size())});
  text_.append(name).append(value);
}

std::pair<std::string_view, std::string_view> Headers::at(std::size_t i) const {
  const Field& field = fields_[i];
  const std::string_view text = text_;
  return {text.substr(field.name, field.name_size),
          text.substr(field.name + field.name_size, field.value_size)};
}

std::string_view Headers::get(std::string_view name) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name_size != name.size()) continue;
    auto [key, value] = at(i);
    if (same_name(key, name)) return value;
  }
  return {};
}

bool Headers::has(std::string_view name) const {
  for (std::size_t i = 0; i < fields_.size(); ++i)
    if (same_name(at(i).first, name)) return true;
  return false;
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (std::size_t i = 0; i < fields_.size(); ++i)
    if (auto [key, value] = at(i); same_name(key, name)) values.push_back(value);
  return values;
}

void Headers::clear() {
  text_.clear();
  fields_.clear();
}

std::string_view Request::query_get(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return {};
}

bool Request::query_has(std::string_view name) const {
  return std::any_of(query.begin(), query.end(), [&](const auto& entry) { return entry.first == name; });
}

Response Response::text(unsigned status, std::string body) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = to_utf8(std::move(body));
  return response;
}

Response Response::json(unsigned status, std::string body) {
  Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = to_utf8(std::move(body));
  return response;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(plus_is_space && c == '+' ? ' ' : c);
    }
  }
  return out;
}

}  // namespace koord::net
