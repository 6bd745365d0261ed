// The webhook configurations that `koord manifests` prints, from the table of handlers.
#pragma once

#include <string>

namespace koord::manager {

/// YAML documents. API servers reach the webhooks by the service that packaging/manifests has; the CA comes
/// when a manager runs. Pods of koord's own namespace are left alone, so that koord starts while no manager
/// does.
std::string webhook_manifests();

}  // namespace koord::manager
