// OpenAPI as far as kubectl needs it: explain, validation, and which patches a kind takes.
#pragma once

#include <optional>
#include <string>

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

std::string openapi_v2_json(const Registry& registry);
/// The same without definitions, in the only form that kubectl reads v2 in. It asks for it to validate the
/// items of a List, and skips the items of kinds that the document does not have.
std::string empty_openapi_v2_protobuf();
std::string openapi_v3_index_json(const Registry& registry);
/// `path` is "api/v1" or "apis/GROUP/VERSION"; nothing if there is no such version.
std::optional<std::string> openapi_v3_json(const Registry& registry, std::string_view path);

}  // namespace koord::sandbox
