// Gate: which requests the page's port answers, before anybody is asked who calls.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/net/message.hpp"

namespace koord::view {

/// What a pod that is pasted in may take.
inline constexpr std::size_t kMostPasted = std::size_t{256} << 10;

inline constexpr std::string_view kPageRoot = "/ui/", kDataRoot = "/ui/data/",
                                  kWhatIfPath = "/ui/data/what-if";

struct GateSettings {
  /// Only this machine reaches the port: its names are this machine's. Else any numeric address is, too.
  bool loopback = true;
  bool tls = false;
  std::vector<std::string> hosts;  // names that it is reached by besides, without a port
};

/// Nothing if the request may go on. A foreign Host (another site whose name leads here), a foreign Origin, a
/// fetch by another site's script, and a method that the path does not have are refused: 421, 403, 403, 405;
/// a pod whose type is not one that a form could send must say so: 415.
std::optional<net::Response> refuse_foreign(const GateSettings& settings, const net::Request& request);

/// The token that `Authorization` shows: a bearer's, or the password of Basic, by which browsers ask for one.
/// Empty: none.
std::string shown_token(const net::Request& request);

/// What every answer says: nothing is run, shown or asked but what comes from here, and nothing is kept.
void add_page_headers(net::Response& response);

}  // namespace koord::view
