// Placeholders: the pods that stand in the engine for objects of other kinds that want a place on a node.
#pragma once

#include <string>
#include <string_view>

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

/// What a pod or a placeholder is to the API server; of a placeholder views into its name.
struct PlacedName {
  std::string_view word;  // "pod", or what the object's kind is called
  std::string_view ns;    // empty for kinds without one
  std::string_view name;
};

/// "WORD:NAME" or "WORD:NAMESPACE:NAME", which no pod can be called.
std::string placeholder_name(const PlacedName& of);
/// Told by its name alone: nothing that a pod may say of itself makes it one.
bool is_placeholder(const api::Pod& pod);

PlacedName placed_name(const api::Pod& pod);
/// "default/p"; "b" of a kind without namespaces.
std::string text(const PlacedName& of);
/// For messages: "pod default/p", "reservation r".
std::string described(const api::Pod& pod);
/// In lists of pods: "default/p", but "reservation r".
std::string listed(const api::Pod& pod);

}  // namespace koord::scheduling
