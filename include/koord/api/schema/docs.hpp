// The described fields of a configuration as a table for the reference.
#pragma once

#include <string>

namespace koord::api {

class Schema;

/// Markdown: one row a field, those of inner structures and of list elements with their path
/// ("profiles[].schedulerName").
std::string fields_markdown(const Schema& schema);

}  // namespace koord::api
