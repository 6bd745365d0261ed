// DryRuns: what preemption came to on each row, kept for as long as nothing changes that it follows from.
#pragma once

#include <cstdint>
#include <vector>

#include "koord/scheduling/plugin/plugin_base.hpp"
#include "scheduling/plugins/default_preemption/victims.hpp"

namespace koord::scheduling::default_preemption {

/// Of a class of pods with one priority. The pods that victims point to are on the row for as long as its
/// number of changes is the same.
struct DryRuns final : PodState {
  /// Numbers that differ once the answer may: of changes of the row, of pods nominated to it, of how the
  /// class sees it, of budgets.
  struct Stamp {
    std::uint64_t row = 0, nominated = 0, delta = 0, budgets = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Entry {
    DryRun run;
    Loss loss;  // of its victims
    Stamp stamp;
    bool made = false;
  };

  std::int32_t priority = 0;
  std::vector<Entry> rows;

  std::size_t bytes() const override { return sizeof *this + rows.capacity() * sizeof(Entry); }
};

}  // namespace koord::scheduling::default_preemption
