// Docker's calls in which hooks have a say, by their paths; everything else is passed through.
#pragma once

#include <cstdint>
#include <string_view>

namespace koord::proxy::docker {

enum class Call : std::uint8_t { other, create, start, stop, update, remove };

struct Route {
  Call call = Call::other;
  std::string_view container;  // of the path: an id, the beginning of one, or a name
  friend bool operator==(const Route&, const Route&) = default;
};

/// `path` without escapes and query: "/containers/ID/start", with "/v1.40" before it or without.
Route route_of(std::string_view method, std::string_view path);

/// Whether it is a whole id: 64 digits of hexadecimal.
bool is_id(std::string_view text);
/// Whether docker can have a container of that name: letters, digits, "_.-", 256 at most.
bool is_reference(std::string_view text);

}  // namespace koord::proxy::docker
