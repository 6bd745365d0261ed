// A file of the proxy's own, which says what becomes of containers: nobody else may have written it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::proxy {

/// Code::not_found: there is none. Code::forbidden: others than root may write it, or replace it in its
/// folder.
Result<std::string> read_own_file(const std::string& path, std::size_t limit);

/// Replaces it whole, mode 0600; its folder is made (0755) if it is missing, and refused as above.
Result<> write_own_file(const std::string& path, std::string_view text);

}  // namespace koord::proxy
