// Tests of the kube tier need a cluster: without one (tests/kube/with-cluster makes one) they are skipped,
// not passed.
#include <cstdlib>

#include "support/needs.hpp"

const char* missing_need() {
  if (std::getenv("KOORD_KUBE_KUBECONFIG") != nullptr) return nullptr;
  return "no Kubernetes: run packaging/dev test kube, or tests/kube/with-cluster PROGRAM";
}
