// Nodes under admission: see node_handlers.hpp.
#include "admission/node/node_handlers.hpp"

#include "admission/node/node_amplification.hpp"
#include "admission/raw/raw_object.hpp"

namespace koord::manager {
namespace {

const json::Value* labels_in(const json::Value& node) { return json::find(node, "metadata", "labels"); }

}  // namespace

Verdict NodeStatusMutating::handle(const AdmissionRequest& request, json::Document& object,
                                   const PluginTimes& times) {
  if (!is_about(request, "nodes", "status")) return Verdict::allow();
  const bool update = request.operation == Operation::update;
  if (!update && request.operation != Operation::create) return Verdict::allow();
  if (const auto right = check_node(object); !right) return Verdict::error(400, right.error().message());
  if (update)
    if (const auto right = check_node(request.old_object); !right)
      return Verdict::error(400, right.error().message());
  return times.run(request.operation, "NodeResourceAmplificationPlugin", [&] {
    if (!update) return Verdict::allow();
    // A kubelet whose status is refused is a node that is lost: what cannot be read amplifies nothing.
    if (const auto done = amplify_node(object, request.old_object, object.arena()); !done)
      log_.warn("a node is not amplified: its annotations cannot be read", kv("node", request.name),
                kv("error", done.error()));
    return Verdict::allow();
  });
}

Verdict NodeValidating::handle(const AdmissionRequest& request, const PluginTimes& times) {
  const bool update = request.operation == Operation::update;
  if (!is_about(request, "nodes") || (!update && request.operation != Operation::create))
    return Verdict::allow();
  if (const auto right = check_node(request.object); !right)
    return Verdict::error(400, right.error().message());
  if (update)
    if (const auto right = check_node(request.old_object); !right)
      return Verdict::error(400, right.error().message());
  return times.run(request.operation, "SLOManagerConfigConflictForNode", [&] {
    if (update && json::same(labels_in(request.object), labels_in(request.old_object)))
      return Verdict::allow();
    std::string wrong = conflict(request.object);
    if (wrong.empty()) return Verdict::allow();
    parts_.log.warn("a node is in several groups of a configuration's key", kv("node", request.name),
                    kv("conflict", wrong));
    return update ? Verdict::error(400, std::move(wrong)) : Verdict::allow();
  });
}

std::string NodeValidating::conflict(const json::Value& node) {
  if (auto config = parts_.config(); config != config_) {
    config_ = std::move(config);
    keys_ = config_ ? checked_keys(*config_, nullptr, true) : std::vector<CheckedKey>();
  }
  api::SymbolMap labels;
  if (const json::Value* all = labels_in(node))
    for (const json::Member* member : by_name(*all)) labels[member->key()] = Symbol(member->value.text());
  for (const CheckedKey& key : keys_)
    if (std::string wrong = key.check_node(labels, json::text_at(node, "metadata", "name")); !wrong.empty())
      return wrong;
  return {};
}

}  // namespace koord::manager
