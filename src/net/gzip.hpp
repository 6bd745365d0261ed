// Unpacking of gzip bodies, bounded.
#pragma once

#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::net {

/// Code::too_large beyond `limit` bytes, Code::parse for what is damaged or cut.
Result<std::string> gunzip(std::string_view packed, std::size_t limit);

}  // namespace koord::net
