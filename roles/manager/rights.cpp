// What the manager may do in the API server: see rights.hpp.
#include "rights.hpp"

#include <array>

#include "koord/scheduling/rights.hpp"

namespace koord::manager {

namespace {

using runtime::Right;

constexpr std::string_view kSlo = "slo.koordinator.sh", kAdmission = "admissionregistration.k8s.io";

constexpr std::array kMine = {
    Right{"", "configmaps", "list watch", "slo-controller-config", runtime::kOwnNamespace},
    // What it said when it could be read last. (Who creates cannot be held to a name.)
    Right{"", "configmaps", "create", "", runtime::kOwnNamespace},
    Right{"", "configmaps", "get patch", "slo-controller-config-last-good", runtime::kOwnNamespace},
    Right{"", "nodes", "list watch patch"},
    Right{"", "nodes/status", "patch"},
    Right{"", "pods", "list watch"},
    Right{"", "pods", "get patch", "", "", "ColocationProfileController"},
    Right{"scheduling.koordinator.sh", "devices", "list watch"},
    // What the webhooks look things up in.
    Right{"", "configmaps", "list watch", "pod-enhanced-validator-config", runtime::kOwnNamespace,
          "EnablePodEnhancedValidator"},
    Right{"", "namespaces", "list watch"},
    // Who may bind pods, and so say which devices they are given.
    Right{"authorization.k8s.io", "subjectaccessreviews", "create"},
    Right{"config.koordinator.sh", "clustercolocationprofiles", "list watch"},
    Right{"scheduling.k8s.io", "priorityclasses", "list watch"},
    // Their certificates, and where API servers find them. (Who creates cannot be held to a name.)
    Right{"", "secrets", "create", "", runtime::kOwnNamespace},
    Right{"", "secrets", "get list watch update", "koordinator-webhook-certs", runtime::kOwnNamespace},
    Right{kAdmission, "mutatingwebhookconfigurations", "get list watch update",
          "koordinator-mutating-webhook-configuration"},
    Right{kAdmission, "validatingwebhookconfigurations", "get list watch update",
          "koordinator-validating-webhook-configuration"},
    Right{kSlo, "nodemetrics", "list watch create patch delete"},
    Right{kSlo, "nodeslos", "list watch create patch delete"},
    // Its webhooks look quotas up; the roots of trees are the controller quotaprofile's.
    Right{"scheduling.sigs.k8s.io", "elasticquotas", "list watch create patch"},
    Right{"scheduling.sigs.k8s.io", "elasticquotas", "get", "", "", "EnableQuotaAdmission"},
    Right{"quota.koordinator.sh", "elasticquotaprofiles", "list watch patch"},
    Right{"topology.node.k8s.io", "noderesourcetopologies", "list watch patch"},
};

/// What the page needs: who asks it, and, for its questions, what a scheduler reads.
constexpr auto kPage = [] {
  auto reads = scheduling::kEngineReads;
  for (Right& right : reads) right.needed_by = "ui";
  return runtime::join_rights(
      std::array{Right{"authentication.k8s.io", "tokenreviews", "create", "", "", "ui"},
                 Right{"authorization.k8s.io", "subjectaccessreviews", "create", "", "", "ui"}},
      reads);
}();

constexpr auto kRights = runtime::join_rights(runtime::election_rights("koordinator-manager"),
                                              runtime::kEventRights, kMine, kPage);

}  // namespace

std::span<const Right> rights() { return kRights; }

}  // namespace koord::manager
