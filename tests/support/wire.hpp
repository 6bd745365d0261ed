// Protobuf's wire format by hand: messages for tests, with whatever fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace koord::test::wire {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
/// A text, bytes or a message.
inline std::string field(unsigned number, std::string_view bytes) {
  std::string out = varint(number << 3 | 2);
  out += varint(bytes.size());
  out += bytes;
  return out;
}
inline std::string number(unsigned field, std::int64_t value) {
  std::string out = varint(field << 3);
  out += varint(static_cast<std::uint64_t>(value));
  return out;
}
/// An entry of a map.
inline std::string pair(unsigned number, std::string_view key, std::string_view value) {
  std::string entry = field(1, key);
  entry += field(2, value);
  return field(number, entry);
}

}  // namespace koord::test::wire
