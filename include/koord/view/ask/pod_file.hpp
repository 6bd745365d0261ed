// A manifest as the pod that it would make.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "koord/async/task.hpp"
#include "koord/base/result.hpp"
#include "koord/kube/client.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::view {

/// The JSON of the pod in `text` (YAML or JSON; one document): a Pod, or what makes pods by a template
/// (Deployment, StatefulSet, Job, CronJob, ...). In its namespace, else in `ns`. Errors name `path`.
Result<std::string> pod_of_manifest(std::string_view text, const std::string& path, const std::string& ns);

struct MadePod {
  std::shared_ptr<api::Pod> pod;
  std::string note;  // what a person should know about how it was made; may be empty
};

/// The pod as the API server would admit it, with what it and its webhooks fill in; it is not made (a dry
/// run). Where the user may not, or the server refuses, as the file says, with the priority of its class.
Task<Result<MadePod>> admit(kube::Client& client, std::string json);

/// The pod as it is written, with what the API server fills in that decides where it may go, but for its
/// priority where only its class is named.
Result<std::shared_ptr<api::Pod>> pod_as_written(const std::string& json);

/// The pod as it is written, with what the API server fills in that decides where it may go; nobody is asked
/// but for the priority of its class. Without a note.
Task<Result<MadePod>> as_written(kube::Client& client, std::string json);

}  // namespace koord::view
