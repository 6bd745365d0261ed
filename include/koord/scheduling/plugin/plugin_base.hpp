// What every plugin is: what it reads of a pod, what it prepares for a class, and what its answers follow
// from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace koord::scheduling {

struct PodInfo;

/// Collects what a plugin reads of a pod. Pods with equal signatures are one class: verdicts and scores
/// are computed for the class. Texts are length-prefixed, so that no two pods collide.
class Signature {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
  }
  void add(std::int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  /// Adds all that the plugin's filters, scores and hints read of the pod. False: they read more than a
  /// signature can hold, and the pod is then computed on its own.
  virtual bool sign(const PodInfo& pod, Signature& signature) const = 0;
};

/// What a plugin derives once per class, or once for all that it signs alike; it may cache in it.
struct PodState {
  virtual ~PodState() = default;
  /// About what it takes, with what it caches; asked after each cycle.
  virtual std::size_t bytes() const { return 256; }
};

/// What a verdict or score follows from, besides what the plugin signs of the pod. What follows from pods on
/// other rows or from other objects is of cross_node_plugin.hpp.
enum class Depends : std::uint8_t {
  node,  // the node's object alone: prepared once and computed for all classes that the plugin signs alike
  pods,  // also the pods on the node
};

}  // namespace koord::scheduling
