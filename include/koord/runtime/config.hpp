// Configuration files: YAML or JSON, read strictly into a struct with a schema.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "koord/api/codec.hpp"
#include "koord/base/result.hpp"

namespace koord::runtime {

/// Where values stood: path (".profiles[0].name", as the codec's messages have it) to line, from 1.
using LineMap = std::map<std::string, int, std::less<>>;

/// One YAML (or JSON) document as JSON text. Plain scalars get JSON's types, quoted ones are strings.
/// Duplicate keys, a second document and aliases that unfold to more than 16 MiB are errors of Code::parse
/// whose message starts with the line.
Result<std::string> yaml_to_json(std::string_view text, LineMap* lines = nullptr);

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
