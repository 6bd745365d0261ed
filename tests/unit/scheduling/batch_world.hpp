// A World whose pods are decided in batches, as those of gangs are.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "world.hpp"

namespace koord::scheduling::test {

struct BatchWorld : World {
  using World::World;

  /// Everything that can be decided now: how many of each kind.
  std::map<Decision::Kind, int> all() {
    last = run();
    std::map<Decision::Kind, int> kinds;
    for (const Decision& d : last) ++kinds[d.kind()];
    return kinds;
  }
  int bound() { return all()[Decision::Kind::bind]; }
  /// As if their bindings had been written, and seen.
  void settle() {
    for (const Decision& d : std::vector(last)) {
      if (d.kind() != Decision::Kind::bind) continue;
      engine.binding_succeeded(*d.pod);
      engine.put_pod(changed(d.pod, [&](api::Pod& p) { p.spec.node_name = d.node(); }));
    }
  }
  void wait(nanoseconds time) { clock.advance(time); }

  std::vector<Decision> last;
};

}  // namespace koord::scheduling::test
