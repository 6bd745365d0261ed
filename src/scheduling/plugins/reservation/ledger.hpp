// Ledger: the reservations on nodes, and which pods have what of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/reservation/rules/room.hpp"

namespace koord::scheduling::reservation {

/// Of a reservation's room; each resource once, none zero.
using Amounts = std::vector<Amount>;
std::int64_t amount_of(const Amounts& amounts, ResourceId resource);

/// Which policies the usable reservations on a row have.
struct Policies {
  bool none = false, others = false;
};

/// Made of the objects and of the pods on rows alone, in whichever order they come: a pod has room of the
/// reservation that its annotation names, if that is on its node, and before it is bound of the one that it
/// was given. A reservation and its pods count both on their row; what its pods have of it is taken back
/// there (NodeTable::correct()), so that it counts once, and no more of it than the reservation keeps. One
/// for all profiles; belongs to the engine's thread.
class Ledger final : public ClusterObserver {
 public:
  struct Holder;
  struct Entry {
    explicit Entry(std::string of) : uid(std::move(of)) {}
    const std::string uid;
    std::uint64_t serial = 0;         // of no other one
    std::optional<Facts> facts = {};  // absent: its object is not known
    const PodInfo* pod = nullptr;     // its reserve pod (or itself), while that counts on a row
    Row row = kNoRow;
    Symbol node = {};                         // the row's
    Taken taken = {};                         // of what counts, by pods on its row
    Amounts counted_twice = {};               // and taken back on the row
    std::uint64_t version = 0;                // another one, of no other entry, whenever anything here is
    std::vector<const Holder*> holders = {};  // the pods that name it, wherever they are
    std::vector<PodSelectorRef> selectors = {};
    bool entered = false;   // its owners are looked for
    bool operates = false;  // `pod` is no reserve pod
    bool anybody = false;   // a term of its owners asks for nothing

    /// There for further owners.
    bool usable() const {
      return facts && facts->available && facts->broken.empty() && pod != nullptr && facts->node == node &&
             !(facts->once && (taken.pods > 0 || facts->owned));
    }
    /// How much of the resource it keeps for pods to come.
    std::int64_t left(ResourceId resource) const;
  };
  /// What a pod on a row has, or would have.
  struct Holder {
    Entry* of;
    Row row;
    api::ResourceList requests;
  };

  explicit Ledger(const PluginContext& context);

  /// Another number whenever anything has changed.
  std::uint64_t version() const { return version_; }
  /// The rows of which something changed after that version, each once; false: too much did.
  template <class F>
  bool changed_since(std::uint64_t version, F&& row_changed) const {
    if (version_ - version > kLog) return false;
    for (std::uint64_t at = version + 1; at <= version_; ++at)
      if (const Row row = log_[at % kLog]; row != kNoRow && rows_[row].changed == at) row_changed(row);
    return true;
  }
  /// No term of owners reads more of a pod than its label set.
  bool reads_labels_alone() const { return other_terms_ == 0; }
  /// Nobody keeps anything.
  bool idle() const { return entries_.empty(); }
  /// nullptr: not known.
  Entry* find(std::string_view uid) const;
  /// Those whose reserve pods are on the row.
  std::span<Entry* const> on(Row row) const {
    return row < rows_.size() ? std::span<Entry* const>(rows_[row].entries) : std::span<Entry* const>();
  }
  /// There are none on any row.
  bool no_rows() const { return settled_ == 0; }
  /// The usable ones of all rows.
  std::vector<const Entry*> usable() const;
  Policies policies(Row row) const;
  /// The usable ones whose owners match the pod; each once, by their age here.
  std::vector<const Entry*> owned_by(const PodInfo& pod) const;
  /// The same of one of them, while reads_labels_alone(): whether it is for the pods of the label set.
  static bool is_for(const Entry& entry, const LabelSet& set);
  /// nullptr: the pod has nothing, or is on no row.
  const Holder* holder(std::string_view pod_uid) const;

  /// The pod, which is on the row already, has room of it from now on, until it is bound or forgotten.
  void assume(const PodInfo& pod, Row row, const Entry& entry);
  void forget(const PodInfo& pod);

  /// The pod runs on the row, and what it has counts as the reservation's from now on, which is being placed
  /// there: until its object says so, or that fails.
  void promise(const PodInfo& pod, Row row, const Entry& entry);
  void take_back_promise(std::string_view pod_uid);

  /// What counts twice if its pods have so much of it.
  Amounts counted_twice(const Entry& entry, const Taken& taken) const;
  /// The same of one that asks for so much.
  Amounts counted_twice(const Requests& kept, const Taken& taken) const;
  /// By resource, of what the engine counts.
  Amounts numbered(const api::ResourceList& amounts) const;
  std::string_view name(ResourceId resource) const { return nodes_.resources().name(resource); }

  void pod_added(Row row, const PodInfo& pod) override;
  void pod_removed(Row row, const PodInfo& pod) override;
  void pod_changed(Row row, const PodInfo& pod) override;
  void node_changed(Row, const api::Node*, const api::Node*) override {}

 private:
  struct Place {  // of a term of owners
    Entry* entry;
    std::size_t term;
  };
  using Places = std::unordered_map<std::string, std::vector<Place>>;

  void complain(std::string_view kind, const api::ObjectMeta& object, const Facts& facts);
  std::string reservation_of(const PodInfo& pod) const;
  void object_changed(const api::Reservation* before, const api::Reservation* now);
  Entry& entry(std::string_view uid);
  Entry* settled_by(const PodInfo& pod) const;
  void drop_if_unused(Entry& entry);
  void enter(Entry& entry);
  void leave(Entry& entry);
  void settle(Row row, const PodInfo& pod);
  void unsettle(Entry& entry);
  void read_anew(Entry& entry, const api::Pod& pod);
  void take(Row row, const PodInfo& pod);
  void give_back(std::string_view pod_uid);
  void count_anew(Entry& entry);
  void recount(Entry& entry);
  void correct(Row row, const Amounts& before, const Amounts& now);
  std::uint64_t changed(Row row);

  static constexpr std::size_t kLog = 4096;
  NodeTable& nodes_;
  PodSelectors& selectors_;
  Complaints& complaints_;
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries_;  // by uid
  struct OnRow {
    std::vector<Entry*> entries;
    std::uint64_t changed = 0;  // the last version of anything there
    mutable std::optional<Policies> policies = {};
  };
  std::vector<OnRow> rows_;
  std::size_t settled_ = 0;                          // entries on rows
  std::size_t operating_ = 0;                        // those of them whose pods are no reserve pods
  std::unordered_map<std::string, Holder> holders_;  // by the pod's uid
  std::uint64_t version_ = 0, serials_ = 0;
  std::vector<Row> log_ = std::vector<Row>(kLog, kNoRow);  // of the last versions, each at its remainder
  std::size_t other_terms_ = 0;                            // that are looked for, and read an owner or a name
  // Where terms of the available ones' owners are looked for.
  std::unordered_map<const PodSelector*, std::vector<Place>> by_labels_;
  Places by_object_, by_controller_;  // uid, or the name where there is none
  std::vector<Place> of_anybody_;
};

}  // namespace koord::scheduling::reservation
