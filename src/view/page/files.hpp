// The page's own files, which the program holds packed.
#pragma once

#include <optional>
#include <string_view>

#include "koord/net/message.hpp"

namespace koord::view {

/// The answer to a GET below /ui/ but for data: 200, packed with gzip whatever is accepted, or 304 to
/// who has it already; nothing where there is no such file.
std::optional<net::Response> page_file(const net::Request& request);

}  // namespace koord::view
