// The ConfigMap slo-controller-config under admission: see config_handler.hpp.
#include "admission/configmap/config_handler.hpp"

#include "admission/raw/raw_object.hpp"
#include "koord/api/schema/codec.hpp"

namespace koord::manager {

Verdict ConfigMapValidating::handle(const AdmissionRequest& request, const PluginTimes& times) {
  if (!is_about(request, "configmaps")) return Verdict::allow();
  return times.run(request.operation, "SLOConfig", [&] { return check(request); });
}

Verdict ConfigMapValidating::check(const AdmissionRequest& request) {
  const std::string_view name =
      request.name.empty() ? json::text_at(request.object, "metadata", "name") : request.name;
  if (request.ns != parts_.ns || name != parts_.name) return Verdict::allow();
  if (request.operation == Operation::remove)
    parts_.log.warn("the ConfigMap with the strategies is deleted", kv("user", request.username));
  const bool update = request.operation == Operation::update;
  if (!update && request.operation != Operation::create) return Verdict::allow();
  const auto now = api::decode<api::ConfigMap>(request.object);
  if (!now) return Verdict::error(400, now.error().message());
  Result<api::ConfigMap> before{api::ConfigMap()};
  if (update) before = api::decode<api::ConfigMap>(request.old_object);
  if (!before) return Verdict::error(400, before.error().message());
  std::string wrong = check_config(*now, update ? &*before : nullptr, parts_.check_names, parts_.nodes);
  if (wrong.empty()) return Verdict::allow();
  parts_.log.warn("a change of the strategies' ConfigMap was refused", kv("user", request.username),
                  kv("error", wrong));
  return Verdict::error(400, std::move(wrong));
}

}  // namespace koord::manager
