// Values as the golden files print them: texts quoted, maps by key.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "koord/cel/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::cel {

inline std::string shown(Value value, Memory& memory) {
  switch (value.kind()) {
    case Kind::string: return json::quote(value.text());
    case Kind::bytes: {
      std::string out = "bytes";
      for (const char c : value.text()) out += " " + std::to_string(static_cast<unsigned char>(c));
      return out;
    }
    case Kind::unsigned_integer: return to_string(value, memory) + "u";
    case Kind::list: {
      std::string out = "[";
      for (std::uint32_t i = 0; i < size_of(value); ++i)
        out += (i != 0 ? ", " : "") + shown(element(value, i, memory), memory);
      return out + "]";
    }
    case Kind::map: {
      std::vector<std::string> pairs;
      for (std::uint32_t i = 0; i < size_of(value); ++i)
        if (const auto pair = entry(value, i, memory))
          pairs.push_back(shown(pair->first, memory) + ": " + shown(pair->second, memory));
      std::sort(pairs.begin(), pairs.end());
      std::string out = "{";
      for (const std::string& pair : pairs) out += (out.size() > 1 ? ", " : "") + pair;
      return out + "}";
    }
    case Kind::type: return "type(" + to_string(value, memory) + ")";
    case Kind::timestamp: return "timestamp(" + to_string(value, memory) + ")";
    case Kind::duration: return "duration(" + to_string(value, memory) + ")";
    default: return to_string(value, memory);
  }
}

}  // namespace koord::cel
