// ClassTable: the classes of pods that were seen, and how much memory their states may take.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "framework/class_state.hpp"
#include "framework/profile.hpp"

namespace koord::scheduler {

struct PodClass {
  const Profile* profile;
  PodInfo sample;
  std::unique_ptr<ClassState> state;  // made when needed, dropped when memory is short
  const std::string* key = nullptr;
  std::uint64_t used = 0;  // when its state was used last, by the table's count
  std::uint32_t pods = 0;  // that refer to it
  bool shared = true;      // false: of one pod that could not be signed
};

class ClassTable {
 public:
  /// `memory`: bytes of states beyond which the least recently used are dropped.
  ClassTable(NodeTable& nodes, VerdictTable& verdicts, std::size_t memory)
      : nodes_(nodes), verdicts_(verdicts), memory_(memory) {}

  /// Counts a pod in; release() counts it out.
  PodClass& acquire(const Profile& profile, const PodInfo& pod);
  void release(PodClass& cls);
  /// Up to date with the node table.
  ClassState& state(PodClass& cls);

  /// From now on the time for ranking nodes is measured.
  void measure(const Clock& clock) { scratch_.clock = &clock; }
  /// What ranking took since the last call.
  nanoseconds take_scoring() { return std::exchange(scratch_.scoring, nanoseconds{0}); }

  std::size_t size() const { return classes_.size(); }
  std::size_t states() const { return states_; }

 private:
  void shrink(const PodClass& keep);

  NodeTable& nodes_;
  VerdictTable& verdicts_;
  std::size_t memory_;
  std::unordered_map<std::string, PodClass> classes_;
  Signature signature_;  // reused
  ClassState::Scratch scratch_;
  std::uint64_t uses_ = 0;
  std::uint64_t unsigned_ = 0;
  std::size_t states_ = 0, bytes_ = 0;
};

}  // namespace koord::scheduler
