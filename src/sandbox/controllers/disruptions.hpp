// Disruptions: how many pods of each PodDisruptionBudget may be evicted now, kept in its status.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sandbox/api/verbs.hpp"
#include "sandbox/controllers/work_queue.hpp"
#include "sandbox/select/selection.hpp"

namespace koord::sandbox {

/// The disruption controller. The pods of a budget are counted as they change, never listed again. It writes
/// no events, and takes no condition back from a pod that was to be disrupted and was not.
class Disruptions final : public Observer {
 public:
  explicit Disruptions(Verbs& verbs);
  ~Disruptions() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Key {
    std::string ns, name;
    auto operator<=>(const Key&) const = default;
  };
  /// The pods that a budget selects, counted.
  struct Budget {
    std::string selector;  // as JSON: what `selection` was made of
    std::optional<Selection> selection;
    std::int64_t pods = 0, healthy = 0;
    /// By the uid of what controls them.
    struct Controller {
      std::string kind, name;
      std::string pod;  // the name of one of its pods
      std::int64_t pods = 0;
    };
    std::map<std::string, Controller> controllers;
  };
  /// What a budget asks for, and of how many.
  struct Wanted {
    std::int64_t expected = 0, healthy = 0;
    std::string problem;  // set: it cannot be said, and why
  };

  void budget_changed(const Change& change);
  void count(Budget& budget, const Object& pod, std::int64_t change);
  void sync(const Key& key);
  Wanted wanted(const Budget& budget, const json::Value& doc, const std::string& ns) const;
  Wanted scale(const Budget& budget, const std::string& ns) const;

  Verbs& verbs_;
  const Kind &pods_, &budgets_;
  std::map<std::string, std::map<std::string, Budget>> known_;  // by namespace, by name
  WorkQueue<Key> queue_;
};

}  // namespace koord::sandbox
