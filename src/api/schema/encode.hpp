// Writing typed values as JSON.
#pragma once

#include "koord/api/schema/table.hpp"
#include "koord/json/writer.hpp"

namespace koord::api {

/// Nothing that the wire would show: empty scalars, lists and maps, structures of empty fields. An optional
/// that is present is not empty, whatever it holds.
bool is_empty(const Type& type, const void* value);

/// True if the field belongs into an object's JSON.
bool is_written(const Field& field, const void* value);

/// An empty time is null. `Out` is json::Writer or ValueWriter.
template <class Out>
void write_value(Out& json, const Type& type, const void* value);

inline const void* member(const void* object, const Field& field) {
  return static_cast<const char*>(object) + field.offset;
}

}  // namespace koord::api
