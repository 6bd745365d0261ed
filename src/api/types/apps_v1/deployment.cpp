// The schema tables of koord/api/types/apps_v1/deployment.hpp: Deployment.
#include "koord/api/types/apps_v1/deployment.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(RollingUpdateDeployment, ROW(max_unavailable), ROW(max_surge));
KOORD_SCHEMA(DeploymentStrategy, ROW(type), ROW(rolling_update));
KOORD_SCHEMA(DeploymentSpec, ROW(replicas), ROW(selector).required(), ROW(template_).required(),
             ROW(strategy), ROW(min_ready_seconds), ROW(revision_history_limit), ROW(paused),
             ROW(progress_deadline_seconds));
KOORD_SCHEMA(DeploymentCondition, ROW(type).required(), ROW(status).required(), ROW(last_update_time),
             ROW(last_transition_time), ROW(reason), ROW(message));
KOORD_SCHEMA(DeploymentStatus, ROW(observed_generation), ROW(replicas), ROW(updated_replicas),
             ROW(ready_replicas), ROW(available_replicas), ROW(unavailable_replicas),
             ROW(conditions).merge_key("type"));
KOORD_OBJECT(Deployment, Kind("apps/v1", "Deployment", "deployments"), ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
