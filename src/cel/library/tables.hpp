// The libraries' tables, each in the file of its name.
#pragma once

#include <span>

#include "cel/library/function.hpp"

namespace koord::cel {

std::span<const Declaration> operator_table();
std::span<const Declaration> conversion_table();
std::span<const Declaration> time_table();
std::span<const Declaration> string_table();
std::span<const Declaration> regex_table();
std::span<const Declaration> list_table();
std::span<const Declaration> optional_table();
std::span<const Declaration> url_table();
std::span<const Declaration> quantity_table();
std::span<const Declaration> semver_table();
std::span<const Declaration> network_table();
std::span<const Declaration> format_table();

/// The operators of arithmetic and order, which conversions and lists use too.
Value add(std::span<const Value> args, Memory& memory);
/// The text of a value as string() gives it, or an error.
Value to_text(Value value, Memory& memory);

}  // namespace koord::cel
