// A cluster in memory with everything that acts by itself: nodes, controllers, custom kinds.
#pragma once

#include <catch2/catch.hpp>

#include "cluster.hpp"
#include "sandbox/controllers/garbage.hpp"
#include "sandbox/controllers/workloads.hpp"
#include "sandbox/crd/registrar.hpp"
#include "sandbox/nodes/kubelets.hpp"
#include "sandbox/nodes/make_nodes.hpp"
#include "sandbox/summary/summary.hpp"

namespace koord::sandbox {

struct LiveCluster : TestCluster {
  Registrar registrar{registry, clock};
  Garbage garbage{verbs};
  Workloads workloads{verbs};
  std::function<nanoseconds(const Object&, nanoseconds)> work_left;  // see KubeletOptions
  Kubelets kubelets{verbs,
                    {std::chrono::milliseconds{100}, std::chrono::milliseconds{100}, std::chrono::seconds{10},
                     [this](const Object& pod, nanoseconds whole) {
                       return work_left ? work_left(pod, whole) : nanoseconds{0};
                     }}};
  Summary summary{verbs};

  explicit LiveCluster(int nodes = 2) {
    REQUIRE(make_nodes(verbs, nodes, "cpu=4,example.com/gpu=2", {}).has_value());
    clock.advance(std::chrono::milliseconds{50});
  }
  void settle() { clock.advance(std::chrono::seconds{2}); }
  std::size_t pods(const std::string& selector) {
    return find(call("GET", kPods + "?labelSelector=" + selector).doc, "items")->size();
  }
};

}  // namespace koord::sandbox
