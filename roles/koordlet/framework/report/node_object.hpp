// The node's own objects (NodeResourceTopology, Device): made where there is none, else changed in place, so
// that what others wrote in them stays.
#pragma once

#include <functional>
#include <string>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/kube/informer.hpp"

namespace koord::api {
struct Kind;
}
namespace koord::json {
class Document;
class Writer;
}  // namespace koord::json
namespace koord::kube {
class Client;
}

namespace koord::koordlet {

/// Of an informer of the one object that is named as the node.
kube::Scope scope_of_node(const std::string& node);

/// "metadata" of an object that is named as its owner, the node, with these labels.
void write_owned_metadata(json::Writer& json, const api::Node& node, std::string_view managed_by = {});

struct NodeObjectEdit {
  /// Changes the document that the API server gave; without a change nothing is written.
  std::function<Result<>(json::Document& document)> change;
  /// The whole of one to be created.
  std::function<std::string()> make;
};

/// Writes it, four times at most where others write, too, or the server is busy. `exists`: what the informer
/// thinks. The error does not name the object.
Task<Result<>> write_node_object(kube::Client& client, Clock& clock, const api::Kind& kind,
                                 const std::string& name, const NodeObjectEdit& edit, bool exists);

}  // namespace koord::koordlet
