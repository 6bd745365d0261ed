// nvidia-smi: NVIDIA's GPUs where their library cannot be asked, as on a host without a loader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/host/nvml.hpp"
#include "koord/host/programs.hpp"

namespace koord::host {

/// The values of a line of its "--format=csv,noheader", without blanks around them.
std::vector<std::string_view> csv_columns(std::string_view line);

/// N of /dev/nvidiaN of the GPU on that bus, which need not be its index: as the driver says it below /proc
/// of `root`, the host's (empty: this process's). Nothing: it does not.
std::optional<std::int64_t> nvidia_minor(const std::string& root, std::string_view bus_id);

/// What the library would say of cards and processes; nothing of faults. Drivers before 450 know no MIG; of
/// later ones a card of which it is not said whether it is cut is among `bad`, as is a line that is no card.
/// 256 cards and 1,024 processes at most. `programs` outlives the task.
Task<Result<GpuAnswer>> ask_nvidia_smi(Programs& programs, std::string root);

}  // namespace koord::host
