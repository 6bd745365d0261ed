// kill_between_writes: what an agent does, cut off before each of its writes in turn.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>

#include "rigs/sim_kernel.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::testing {

/// `make(journal)` gives a pointer to a QosRig; `live(rig)` is what its agent does, which is killed instead
/// of its k-th write to a file or a process; `after(rig, journal, k)` starts the next agent and looks. k
/// grows until an agent lives through: how many writes that are is returned.
template <class Make, class Live, class After>
std::size_t kill_between_writes(const Make& make, const Live& live, const After& after) {
  for (std::size_t k = 0;; ++k) {
    CAPTURE(k);
    REQUIRE(k < 200);
    const koord::testing::Tree tree;
    const std::string journal = tree / "journal";
    const auto rig = make(journal);
    rig->kernel.die_after = rig->processes.die_after = k;
    bool killed = false;
    try {
      live(*rig);
    } catch (const Killed&) {
      killed = true;
    }
    rig->kernel.die_after.reset();
    rig->processes.die_after.reset();
    after(*rig, journal, k);
    if (!killed) return k;
  }
}

}  // namespace koord::koordlet::testing
