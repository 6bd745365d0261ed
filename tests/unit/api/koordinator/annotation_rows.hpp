// Rows of an annotation: its text, and what it is when it is written again, or the error.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "koord/api/koordinator/annotation.hpp"

namespace koord::api {

template <class T>
Result<std::optional<T>> read(std::string_view text, std::string_view name = T::kAnnotation) {
  return read_annotation<T>(SymbolMap{{name, Symbol(text)}}, name);
}

/// What it says, written again; "nothing", or the error.
template <class T>
std::string again(std::string_view text) {
  const auto value = read<T>(text);
  if (!value) return value.error().message();
  return *value ? encode_annotation(**value) : "nothing";
}

struct Row {
  std::string_view text, expected;  // empty: the text itself
};

/// The rows, and what holds of every annotation: absent, empty, too long, no JSON, too deep, set and read.
template <class T>
void check(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(again<T>(row.text) == (row.expected.empty() ? row.text : row.expected));
  }
  CHECK(again<T>("") == "nothing");
  CHECK(read_annotation<T>({})->has_value() == false);
  const std::string name(T::kAnnotation);
  CHECK(again<T>(std::string(kMaxAnnotation + 1, ' ')) == name + ": longer than 64 KiB");
  CHECK(read<T>(std::string(kMaxAnnotation + 1, ' ')).error().code() == Code::too_large);
  CHECK(again<T>("incorrect") == name + ": JSON: line 1, column 1 (byte 0): no JSON value");
  CHECK(again<T>(std::string(2000, '[')).starts_with(name + ": "));
  SymbolMap map;
  if (const auto value = read<T>(rows.begin()->text); value && *value) {
    set_annotation(map, **value);
    CHECK(read_annotation<T>(map).value() == *value);
  }
}

}  // namespace koord::api
