// Configuration files: YAML or JSON, read strictly into a struct with a schema.
#pragma once

#include <string>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/base/result.hpp"
#include "koord/json/yaml.hpp"

namespace koord::runtime {

/// Reads a component's configuration. apiVersion and kind must be the schema's, if it has a kind. An unknown,
/// duplicate or mistyped field is an error "FILE:LINE: PATH: what". `lines` gets the places of all values,
/// for what is found wrong later.
Result<> read_config(std::string_view text, const std::string& file, const api::Schema& schema, void* object,
                     json::LineMap* lines = nullptr);
Result<> load_config(const std::string& file, const api::Schema& schema, void* object,
                     json::LineMap* lines = nullptr);

template <class T>
Result<T> load_config(const std::string& file, json::LineMap* lines = nullptr) {
  Result<T> object{T()};
  if (auto done = load_config(file, api::schema<T>(), &*object, lines); !done)
    object = std::move(done).error();
  return object;
}

/// An error whose message starts with a value's path (with or without the first '.') and ": ", with the file
/// and that value's line in front: "FILE:LINE: PATH: what". Without a line if there is no such path.
Error located(const Error& error, const std::string& file, const json::LineMap& lines);

}  // namespace koord::runtime
