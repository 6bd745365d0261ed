// The described fields of a configuration as a table for the reference.
#pragma once

#include <string>
#include <string_view>

namespace koord::api {

struct Field;
class Schema;

/// What the field is for: its row's doc, else what fields of its name are for wherever they stand; empty:
/// nobody says.
std::string_view meaning(const Field& field);

/// Markdown: one row a field, those of inner structures and of list elements with their path
/// ("profiles[].schedulerName"); those without a meaning of their own share the last row of what they are in.
std::string fields_markdown(const Schema& schema);

}  // namespace koord::api
