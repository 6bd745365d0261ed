// StatefulSets: pods with ordinals and claims of their own, one after the other or all at once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sandbox/api/verbs.hpp"
#include "sandbox/controllers/work_queue.hpp"
#include "sandbox/controllers/workloads.hpp"

namespace koord::sandbox {

/// The StatefulSet controller: OrderedReady and Parallel, claim templates and their retention, ordinals that
/// start anywhere, minReadySeconds, rolling updates from the highest ordinal down to the partition, one pod
/// at a time, OnDelete, and revisions. Pods that nobody controls are not adopted.
class StatefulSets final : public Observer {
 public:
  explicit StatefulSets(Verbs& verbs, Workloads::Create create = {});
  ~StatefulSets() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Key {
    std::string ns, name;
    auto operator<=>(const Key&) const = default;
  };
  /// What is known of a set, by its uid.
  struct SetState {
    std::set<std::string> pods, revisions;  // names
    std::set<std::string> making;           // names of pods and claims whose creation has not been answered
    int refused = 0;                        // creations, in a row
    WallTime not_before{};                  // of the next creation
    std::int64_t generation = 0;            // of the set that `update` was made of
    std::string update;                     // its revision's name
  };
  /// A set as one look sees it.
  struct View;
  /// Whether a look may go on to what comes after.
  enum class Next : std::uint8_t { go_on, wait };

  void sync(const Key& key);
  void work(View& view);
  void sort_pods(View& view) const;
  /// The revision of the set's template, made or numbered anew where the template has changed.
  const std::string& update_revision(const View& view);
  void drop_old_revisions(const View& view);
  Next replica(View& view, std::int64_t ordinal, std::int64_t& may_make);
  Next condemned(View& view, const Object& pod, const Object* first_unavailable);
  void roll(const View& view);
  /// False where a claim is on its way, or may not be used.
  bool make_claims(const View& view, std::int64_t ordinal);
  void make_pod(const View& view, std::int64_t ordinal);
  void make(const View& view, const Kind& kind, std::string name, json::Document doc);
  /// Gives a pod's claims the owner that the retention policy asks for.
  void own_claims(const View& view, const Object& pod, bool condemned);
  /// Ready for long enough; if it soon will be, the set is looked at then.
  bool is_available(const View& view, const Object& pod);
  void write_status(const View& view);

  Verbs& verbs_;
  const Kind &pods_, &claims_, &sets_, &revisions_;
  const Workloads::Create create_;
  std::map<std::string, SetState> states_;
  WorkQueue<Key> queue_;
};

}  // namespace koord::sandbox
