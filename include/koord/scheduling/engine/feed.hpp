// What an engine is fed with from a process's informers.
#pragma once

#include <map>

#include "koord/kube/informer.hpp"

namespace koord::scheduling {

class Engine;

/// Declares what the plugins of the engine's profiles watch besides nodes and pods, of a kind that they read
/// in parts one for each.
std::multimap<const kube::ObjectType*, kube::AnyInformer> watch(const Engine& engine,
                                                                kube::InformerSet& informers,
                                                                kube::Client& client);

/// Tells the engine of a change of a node, a pod, or anything else; what no plugin watches is passed over.
void feed(Engine& engine, const kube::Change& change);

}  // namespace koord::scheduling
