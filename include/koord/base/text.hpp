// Texts for people and tools: UTF-8 that is never cut in two, quotes as Go writes them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "koord/base/utf8.hpp"

namespace koord {

/// The longest start of `text` that has at most `limit` bytes and does not end inside a character.
std::string_view utf8_prefix(std::string_view text, std::size_t limit);

/// At most the 1,024 bytes that an event's note may have, ending in " ..." if it was cut.
std::string cut_note(std::string_view note);

/// What Go's strconv.ParseBool takes.
std::optional<bool> parse_bool(std::string_view text);

/// Appends `text` in double quotes, as Go's %q does but for what is not printable beyond ASCII, which stays
/// as it is. What is not UTF-8 becomes \x..: the result is UTF-8 always.
void append_quoted(std::string& out, std::string_view text);
std::string quote(std::string_view text);

}  // namespace koord
