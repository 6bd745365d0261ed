// What GET /audit asks for.
#pragma once

#include <optional>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/net/message.hpp"
#include "koord/runtime/audit_record.hpp"

namespace koord::runtime {

struct AuditQuery {
  std::string object, plugin, user, wanted_by;  // empty: any
  std::optional<WallTime> since;
  std::size_t limit = 0;
  std::uint64_t before = 0;  // records of smaller numbers; 0: all

  /// Code::invalid names the parameter.
  static Result<AuditQuery> parse(const net::Request& request, std::size_t default_limit,
                                  std::size_t max_limit, WallTime now);
  bool wants(const AuditRecord& record) const;
};

}  // namespace koord::runtime
