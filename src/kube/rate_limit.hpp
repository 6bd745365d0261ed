// When to repeat what was refused, as plain arithmetic; and the client-side limit.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>

#include "koord/async/backoff.hpp"
#include "koord/async/token_bucket.hpp"
#include "koord/net/message.hpp"

namespace koord::kube {

/// What a server may ask us to wait: an API server says seconds, and koord must not sleep for a day because
/// somebody says so.
inline constexpr std::chrono::minutes kMaxRetryAfter{1};

/// Retry-After in whole seconds, capped. The other form, a date, is not used by API servers.
inline std::optional<std::chrono::seconds> retry_after(const net::Response& response) {
  const std::string_view text = response.headers.get("Retry-After");
  std::uint64_t seconds = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || end != text.data() + text.size() || failed == std::errc::invalid_argument)
    return std::nullopt;
  const auto most = static_cast<std::uint64_t>(std::chrono::seconds(kMaxRetryAfter).count());
  return std::chrono::seconds{failed == std::errc() ? std::min(seconds, most) : most};
}

/// A refused request was not carried out: 429 always, 503 where the server says when to come back. Anything
/// else may have been, and is the caller's to repeat.
inline std::optional<nanoseconds> repeat_after(const net::Response& response, Backoff& backoff) {
  const auto asked = retry_after(response);
  if (response.status != 429 && !(response.status == 503 && asked)) return std::nullopt;
  const nanoseconds own = backoff.next();
  return asked ? *asked : own;
}

}  // namespace koord::kube
