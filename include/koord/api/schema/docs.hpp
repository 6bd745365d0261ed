// The described fields of a configuration as a table for the reference.
#pragma once

#include <string>

namespace koord::api {

class Schema;

/// Markdown: one row a field, those of inner structures and of list elements with their path
/// ("profiles[].schedulerName"); those without a meaning of their own share the last row of what they are in.
std::string fields_markdown(const Schema& schema);

}  // namespace koord::api
