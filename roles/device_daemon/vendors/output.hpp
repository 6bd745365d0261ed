// Reading what vendors' tools print: tables for people, whose lines and columns are all that there is to go
// by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/xpu_devices.hpp"
#include "koord/base/result.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon {

/// More cards than any machine has: what a tool says beyond them is dropped.
inline constexpr std::size_t kMostCards = 256;

/// Without '\r' and without empty ones.
std::vector<std::string_view> lines_of(std::string_view text);
/// Words between blanks, at most 256.
std::vector<std::string_view> fields_of(std::string_view line);
/// The last word of the line; empty: it has none.
std::string_view last_field(std::string_view line);
/// The last word of the first line that has `name` in it; nothing: no line has.
std::optional<std::string_view> value_of(std::string_view text, std::string_view name);
/// Of all lines that have `name` in them, the last words' sum. Code::parse names the line that has no number.
Result<std::int64_t> sum_of(std::string_view text, std::string_view name);

/// Digits alone, at most 12.
std::optional<std::int64_t> whole_number(std::string_view text);
/// The same, and not 0: a card's memory.
std::optional<std::int64_t> positive_number(std::string_view text);

/// A name that a label may have for its value: what it may not have becomes '-', 63 bytes at most.
std::string model_name(std::string_view text);

/// What every card has: its place by sysfs where that knows the bus, else that bus and node 0, and health. An
/// error: `text`, what the vendor calls the card's bus, is none.
Result<> place_card(const Machine& machine, std::string_view text, api::XpuDevice& device);

/// Its resources: gpu-memory, "98304Mi" say, and gpu-core 100.
void set_gpu_resources(api::XpuDevice& device, std::string memory);

/// "npu-smi: no line with Total: ..." with the first of what it printed.
Error unreadable(std::string_view program, std::string_view what, std::string_view printed);

}  // namespace koord::device_daemon
