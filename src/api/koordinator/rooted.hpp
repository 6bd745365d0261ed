// Annotations whose JSON is no struct's object: a list or a map at the root.
#pragma once

#include <string>
#include <string_view>

#include "../schema/encode.hpp"
#include "../schema/object_decoder.hpp"

namespace koord::api {

/// Into a default-constructed value of a type that type_of knows.
template <class V>
Result<> decode_rooted(std::string_view text, V& to) {
  ObjectDecoder decoder(ObjectDecoder::Mode::tolerant, true);
  decoder.start(type_of<V>, &to, false);
  return json::read(text, decoder);
}

template <class V>
std::string encode_rooted(const V& value) {
  std::string text;
  json::Writer json(text);
  write_value(json, type_of<V>, &value);
  return text;
}

}  // namespace koord::api
