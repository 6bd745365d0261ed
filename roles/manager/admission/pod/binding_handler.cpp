// Bindings of pods under admission: see binding_handler.hpp.
#include "admission/pod/binding_handler.hpp"

#include "admission/raw/raw_object.hpp"

namespace koord::manager {
namespace {

constexpr metrics::Metric kDecisions{.name = "koord_manager_webhook_binding_admission_decisions_total",
                                     .type = metrics::Type::counter,
                                     .help = "Bindings by what was decided.",
                                     .labels = {"decision"}};

}  // namespace

const metrics::Table BindingValidating::kMetrics = {&kDecisions};

BindingValidating::BindingValidating(Parts parts)
    : parts_(std::move(parts)), decisions_(parts_.registry.counters(kDecisions)) {}

Verdict BindingValidating::handle(const AdmissionRequest& request, const PluginTimes&) {
  if (!parts_.enabled || !is_about(request, "pods", "binding") || request.operation != Operation::create)
    return Verdict::allow();
  std::shared_ptr<const api::Pod> pod;
  const BindingDecision decision =
      decide_binding(parts_.rules, request.username, request.ns, [&]() -> const api::ObjectMeta* {
        pod = parts_.pods(request.ns, request.name);
        return pod ? &pod->metadata : nullptr;
      });
  if (decision == BindingDecision::not_asked) return Verdict::allow();
  decisions_.with({to_string(decision)}).inc();
  if (decision == BindingDecision::denied || decision == BindingDecision::dry_run)
    parts_.log.v(3, "a user who may not bind pods binds one", kv("pod", request.name),
                 kv("namespace", request.ns), kv("user", request.username),
                 kv("denied", decision == BindingDecision::denied));
  return decision == BindingDecision::denied
             ? Verdict::deny("binding denied: username is not in the allowed list")
             : Verdict::allow();
}

}  // namespace koord::manager
