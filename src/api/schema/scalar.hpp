// The scalar types of the codec: reading them from JSON tokens, writing, comparing, emptiness.
#pragma once

#include <string_view>

#include "koord/api/schema/table.hpp"
#include "koord/base/result.hpp"
#include "koord/json/writer.hpp"

namespace koord::api {

enum class Token { boolean, number, string };

/// Stores a token's value; false if the type does not take such a token. `text` is "true" or "false", the
/// number's text or the string's value.
Result<bool> read_scalar(const Type& type, void* value, Token token, std::string_view text);

/// A number that JSON lacks is 0. `Out` is json::Writer or ValueWriter.
template <class Out>
void write_scalar(Out& json, const Type& type, const void* value);

/// What a default-constructed value has: "", 0, false, the epoch.
bool empty_scalar(const Type& type, const void* value);

bool equal_scalar(const Type& type, const void* a, const void* b);

/// Of any type, whole.
bool equal(const void* a, const void* b, const Type& type);

}  // namespace koord::api
