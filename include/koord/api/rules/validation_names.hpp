// Names as Kubernetes validates them, with its messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace koord::api {

/// What is wrong with a name, in Kubernetes' words; empty: nothing.
using NameErrors = std::vector<std::string>;

NameErrors check_dns1123_label(std::string_view name);      // namespaces
NameErrors check_dns1123_subdomain(std::string_view name);  // most kinds
NameErrors check_dns1035_label(std::string_view name);      // services
/// Label keys, annotation keys (in lower case), extended resources, finalizers: [PREFIX/]NAME.
NameErrors check_qualified_name(std::string_view name);
NameErrors check_label_value(std::string_view value);
/// Whether the two find nothing, without words.
bool is_qualified_name(std::string_view name);
bool is_label_value(std::string_view value);
/// Kinds whose names are free otherwise (RBAC).
NameErrors check_path_segment(std::string_view name);
/// As field errors join them: "a; b" for labels, "a, b" elsewhere.
std::string join(const NameErrors& errors, std::string_view separator = ", ");

/// A field.Invalid of Kubernetes: PATH: Invalid value: "VALUE": DETAIL
std::string invalid_value(std::string_view path, std::string_view value, std::string_view detail);

}  // namespace koord::api
