// NumaHints: what the providers of a profile say of memory nodes, asked and decided once for a row and for
// all pods that ask them the same.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/cluster/row_slots.hpp"
#include "koord/scheduling/plugin/numa_choice.hpp"

namespace koord::scheduling {

class NumaShape;

/// Belongs to the engine's thread.
class NumaHints {
 public:
  struct Provider {
    NumaHintPlugin* hints;
    const Plugin* plugin;  // the same
  };

  /// In the order in which they are asked; before the first shape().
  void add(Provider provider) { providers_.push_back(provider); }
  std::span<const Provider> providers() const { return providers_; }
  /// What the providers make of such a pod, for as long as somebody holds it. nullptr: nobody has a say, or
  /// what they read cannot be signed.
  std::shared_ptr<NumaShape> shape(const PodInfo& pod, const NodeTable& nodes);

 private:
  std::vector<Provider> providers_;
  std::unordered_map<std::string, std::weak_ptr<NumaShape>> shapes_;  // by what the providers sign
  std::size_t sweep_at_ = 64;
  Signature signature_;  // reused
};

/// Pods that ask the same of all providers.
class NumaShape {
 public:
  struct Answer {
    std::vector<NumaHintList> lists;  // provider by provider
    NumaChoice choice;
  };
  /// Kept with the row's version; of a view that differs from its row it is made anew. Valid until the next
  /// call.
  const Answer& on(const NodeView& view, const NumaQuestion& question);
  std::size_t bytes() const { return sizeof *this + kept_.bytes(); }

 private:
  friend NumaHints;
  explicit NumaShape(const NodeTable& nodes) : kept_(nodes) {}
  void ask(const NodeView& view, const NumaQuestion& question, Answer& answer);

  struct Asked {
    const NumaHintPlugin* hints;
    std::unique_ptr<PodState> state;
  };
  struct Kept {
    std::uint64_t version = 0;  // of the row; 0: not asked yet
    Answer answer;
  };
  std::vector<Asked> asked_;
  RowSlots<Kept> kept_;
  Answer other_;
};

}  // namespace koord::scheduling
