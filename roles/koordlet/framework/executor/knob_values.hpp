// What a knob's file says, in cgroup v1's terms, and which of two values is the looser one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "framework/plan/strategy.hpp"
#include "koord/base/result.hpp"
#include "koord/host/cgroup_knobs.hpp"

namespace koord::koordlet {

/// Code::parse for anything else than the kernel's own forms. Of a file that has many settings it is the
/// `key`'s (knob_layouts.hpp); Code::not_found where there is none of that name.
Result<KnobValue> parse_knob(host::Knob knob, host::CgroupVersion version, std::string_view text,
                             std::string_view key = {});
/// The text to write. Code::invalid for a value that the knob cannot have.
Result<std::string> print_knob(host::Knob knob, host::CgroupVersion version, const KnobValue& value,
                               std::string_view key = {});

/// Whether a file that says `found` needs no write of `wanted`: CPUs as sets, memory limits as the kernel
/// rounds them, v2's shares as weights, texts without what the kernel pads them with.
bool same_value(host::Knob knob, host::CgroupVersion version, const KnobValue& found,
                const KnobValue& wanted);

/// What a levelled knob holds between the old and the new value: the union of both sets of CPUs (none if the
/// new one is part of the old), the larger quota or limit, where -1 is larger than all. Nothing: the old
/// value is wide enough.
std::optional<KnobValue> widened(host::Knob knob, const KnobValue& before, const KnobValue& after);

}  // namespace koord::koordlet
