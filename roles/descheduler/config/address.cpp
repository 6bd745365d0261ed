// "HOST:PORT" as Go reads it.
#include <fmt/format.h>

#include "config/config.hpp"

namespace koord::descheduler {

Result<std::pair<std::string, std::string>> split_host_port(std::string_view address) {
  const auto wrong = [&](std::string_view why) {
    return Error(Code::invalid, fmt::format("address {}: {}", address, why));
  };
  constexpr std::string_view kMissing = "missing port in address", kTooMany = "too many colons in address";
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return wrong(kMissing);
  std::string_view host = address.substr(0, colon), outside = address;
  if (address.front() == '[') {
    const std::size_t end = address.find(']');
    if (end == std::string_view::npos) return wrong("missing ']' in address");
    if (end + 1 != colon)
      return wrong(end + 1 < address.size() && address[end + 1] == ':' ? kTooMany : kMissing);
    host = address.substr(1, end - 1);
    outside = address.substr(colon);
    if (host.find('[') != std::string_view::npos) return wrong("unexpected '[' in address");
  } else if (host.find(':') != std::string_view::npos) {
    return wrong(kTooMany);
  }
  if (outside.find('[') != std::string_view::npos) return wrong("unexpected '[' in address");
  if (outside.find(']') != std::string_view::npos) return wrong("unexpected ']' in address");
  return std::pair(std::string(host), std::string(address.substr(colon + 1)));
}

}  // namespace koord::descheduler
