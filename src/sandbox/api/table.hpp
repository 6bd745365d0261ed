// Tables: the form in which kubectl get asks for objects.
#pragma once

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// `include` is Metadata, None or Object (the includeObject option).
std::string table_json(const Kind& kind, const std::vector<ObjectPtr>& objects, std::uint64_t version,
                       const std::string& next, std::optional<std::uint64_t> remaining,
                       std::string_view include, WallTime now, bool with_columns = true);
/// PartialObjectMetadata of an object.
std::string partial_json(const Object& object);
/// The object as requests for this kind see it (another group's or version's form).
Bytes show(const Kind& kind, const ObjectPtr& object);

}  // namespace koord::sandbox
