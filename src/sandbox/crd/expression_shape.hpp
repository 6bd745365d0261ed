// What expressions see of a schema: types to check them with, shapes to read values by.
#pragma once

#include <memory>

#include "koord/cel/shape.hpp"
#include "koord/json/value.hpp"

namespace koord::sandbox {

/// nullptr where an expression sees nothing: without a type, a list without items. `resource` is a whole
/// object, with apiVersion, kind and a metadata that has its name alone.
std::unique_ptr<cel::Shape> expression_shape(const json::Value& schema, bool resource);

}  // namespace koord::sandbox
