// Base64 with its standard alphabet and padding (RFC 4648), as Secrets and kubeconfigs have it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace koord {

std::string encode_base64(std::string_view data);
/// Blanks and line breaks are passed over; nothing for what is malformed otherwise.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace koord
