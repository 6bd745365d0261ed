// The controller of ElasticQuotas: writes what has become of them while the scheduler leads.
#pragma once

#include <memory>

#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "scheduling/plugins/elastic_quota/control/board.hpp"
#include "scheduling/plugins/elastic_quota/control/status.hpp"

namespace koord::scheduling::elastic_quota {

/// Makes the three built-in quotas where there are none, writes what the board says into the objects that say
/// something else (each once a second at most), evicts the pods that the board names, and shows quotas in
/// metrics. What cannot be written is tried
/// again with a backoff; one quota never holds up another. Where the API server does not serve ElasticQuotas
/// it waits until it does.
std::unique_ptr<PluginController> make_controller(BuiltIn built_in, std::shared_ptr<QuotaBoard> board,
                                                  kube::InformerSet& informers, kube::Client& client);

}  // namespace koord::scheduling::elastic_quota
