// Metadata that every object has: names, labels, annotations, finalizers, owners; Kubernetes' messages.
#pragma once

#include "koord/api/rules/validation_names.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// An error for each complaint; true if there were any.
bool add_errors(const api::NameErrors& reasons, const std::string& path, std::string_view value,
                StatusCauses& errors);

void validate_metadata(const json::Value& object, const Kind& kind, StatusCauses& errors);
/// A map of labels at `path`.
void validate_labels(const json::Value* labels, std::string_view path, StatusCauses& errors);

}  // namespace koord::sandbox
