// Files that hold many settings: which part of the text is whose, and what is written for one of them.
#pragma once

#include <string>
#include <string_view>

#include "koord/base/result.hpp"
#include "koord/host/cgroup_knobs.hpp"

namespace koord::koordlet {

/// What the file says of the key, or as a whole: a part of `text`, or static text ("1", "0" for words).
/// Code::not_found if the file does not name it.
Result<std::string_view> setting_in(const host::KnobRow& row, std::string_view text, std::string_view key);

/// What is written to set the key to `value`, which the kernel takes without the others. Code::invalid for a
/// key that cannot be one of such a file.
Result<std::string> setting_text(const host::KnobRow& row, std::string_view key, std::string_view value);

// Lines that say several things at once (KnobLines::words): "enable=1 ctrl=user rpct=95.00".

/// What can be written again of what the kernel says: where it chooses itself nothing of what it chose.
std::string settable_words(std::string_view said);
/// Whether all that `wanted` names is said, too, numbers by their worth: 95 is 95.00.
bool has_words(std::string_view said, std::string_view wanted);

}  // namespace koord::koordlet
