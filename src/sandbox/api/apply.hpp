// Server-side apply: what a manager applied before and no longer does goes, what it applies comes.
#pragma once

#include "koord/net/message.hpp"
#include "sandbox/api/verbs.hpp"

namespace koord::sandbox {

struct Applied {
  ObjectPtr object;
  bool created = false;
};

/// The body is the configuration (JSON or YAML). Conflicts between managers are not raised: the last one
/// wins.
Outcome<Applied> apply_object(Verbs& verbs, const Kind& kind, std::string_view ns, std::string_view name,
                              std::string_view subresource, const net::Request& request,
                              const WriteOptions& options);

}  // namespace koord::sandbox
