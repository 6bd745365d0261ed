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

}  // namespace koord::koordlet
