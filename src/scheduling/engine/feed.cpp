// See feed.hpp.
#include "koord/scheduling/engine/feed.hpp"

#include <utility>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/config/watched_scope.hpp"
#include "koord/scheduling/engine/engine.hpp"

namespace koord::scheduling {

std::multimap<const kube::ObjectType*, kube::AnyInformer> watch(const Engine& engine,
                                                                kube::InformerSet& informers,
                                                                kube::Client& client) {
  std::multimap<const kube::ObjectType*, kube::AnyInformer> all;
  for (const auto& store : engine.objects().stores())
    for (kube::Scope& scope : watched_scopes(engine.profiles(), store->type()))
      all.emplace(&store->type(), informers.any_informer(store->type(), client, std::move(scope)));
  return all;
}

void feed(Engine& engine, const kube::Change& change) {
  if (change.is<api::Node>()) {
    if (auto now = change.new_object<api::Node>()) return engine.put_node(std::move(now));
    return engine.remove_node(change.old_object<api::Node>()->metadata.name);
  }
  if (change.is<api::Pod>()) {
    if (auto now = change.new_object<api::Pod>()) return engine.put_pod(std::move(now));
    return engine.remove_pod(*change.old_object<api::Pod>());
  }
  const bool gone = change.after == nullptr;
  engine.change_object(*change.type, gone ? change.before : change.after, gone);
}

}  // namespace koord::scheduling
