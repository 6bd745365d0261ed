// The main of kube-tier tests: without a cluster (tests/kube/with-cluster makes one) they are skipped, not
// passed.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

namespace {
constexpr int kSkipped = 77;  // what meson counts as skipped
}

int main(int argc, char** argv) {
  if (std::getenv("KOORD_KUBE_KUBECONFIG") == nullptr) {
    std::fputs("skipped: no Kubernetes: run packaging/dev test kube, or tests/kube/with-cluster PROGRAM\n",
               stderr);
    return kSkipped;
  }
  return Catch::Session().run(argc, argv);
}
