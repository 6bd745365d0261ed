// Configuration files: YAML or JSON, read strictly into a struct with a schema.
#pragma once

#include <string>
#include <string_view>

#include "koord/api/codec.hpp"
#include "koord/base/result.hpp"

namespace koord::runtime {

/// Reads a component's configuration. apiVersion and kind must be the schema's, if it has a kind. An unknown,
/// duplicate or mistyped field is an error "FILE:LINE: PATH: what".
Result<> read_config(std::string_view text, const std::string& file, const api::Schema& schema, void* object);
Result<> load_config(const std::string& file, const api::Schema& schema, void* object);

template <class T>
Result<T> load_config(const std::string& file) {
  Result<T> object{T()};
  if (auto done = load_config(file, api::schema<T>(), &*object); !done) object = std::move(done).error();
  return object;
}

}  // namespace koord::runtime
