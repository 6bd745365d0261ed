// URLs as Go's net/url reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::cel {

struct ParsedUrl {
  std::string scheme, opaque, user, host, path, query, fragment;  // the path escaped
  bool has_authority = false, forced_query = false, has_fragment = false;

  std::string text() const;
};

/// Of a request: without a fragment, absolute. The error is Go's: `parse "x": invalid URI for request`.
Result<ParsedUrl> parse_url(std::string_view text, bool of_request);
/// Empty if an escape is wrong; a plus is a blank.
std::optional<std::string> unescape_query(std::string_view text);

}  // namespace koord::cel
