// When to repeat what was refused, as plain arithmetic; and the client-side limit.
#pragma once

#include <optional>

#include "koord/async/backoff.hpp"
#include "koord/async/token_bucket.hpp"
#include "koord/kube/transport.hpp"

namespace koord::kube {

/// A refused request was not carried out: 429 always, 503 where the server says when to come back. Anything
/// else may have been, and is the caller's to repeat.
inline std::optional<nanoseconds> repeat_after(const HttpResponse& response, Backoff& backoff) {
  const bool refused = response.status == 429 || (response.status == 503 && response.retry_after);
  if (!refused) return std::nullopt;
  const nanoseconds own = backoff.next();
  if (!response.retry_after) return own;
  return std::min<nanoseconds>(*response.retry_after, std::chrono::minutes{1});
}

}  // namespace koord::kube
