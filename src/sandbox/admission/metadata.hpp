// Metadata that every object has: names, labels, annotations, finalizers, owners; Kubernetes' messages.
#pragma once

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

// Each returns Kubernetes' complaint, empty if the text is good.
std::string_view check_subdomain(std::string_view name);
std::string_view check_label_name(std::string_view name);  // RFC 1123
std::string_view check_dns1035(std::string_view name);
std::string_view check_path_segment(std::string_view name);
std::string_view check_label_value(std::string_view value);
/// `[prefix/]name`; may be several complaints, joined.
std::string check_qualified_name(std::string_view name);

void validate_metadata(const Json& object, const Kind& kind, FieldErrors& errors);
/// A map of labels at `path`.
void validate_labels(const Json* labels, std::string_view path, FieldErrors& errors);

}  // namespace koord::sandbox
