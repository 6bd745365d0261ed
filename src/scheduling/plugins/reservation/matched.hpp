// Matched: the reservations that one pod may use, row by row, and what it finds there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/cluster/node_view.hpp"
#include "scheduling/plugin/reserved_room.hpp"
#include "scheduling/plugins/reservation/ledger.hpp"
#include "scheduling/plugins/reservation/rules/wants.hpp"

namespace koord::scheduling::reservation {

using Entries = std::vector<const Ledger::Entry*>;
/// Of one row.
using RowEntries = std::span<const Ledger::Entry* const>;

/// Another one when anything of these is another.
std::uint64_t version_of(RowEntries entries);

/// What holds for a cycle of the pod: until the ledger changes.
struct Matched {
  std::vector<Row> rows;              // ascending
  std::vector<std::uint32_t> starts;  // of each row's among the entries; one more at the end
  Entries entries;                    // of all rows; of one by order and name
  api::ResourceList asked;            // what the pod asks for; empty where it matches nothing
  /// Of nothing else; since it has been found only rows that the node table's log names have others. 0: of a
  /// pod alone.
  std::uint64_t serial = 0;

  std::size_t bytes() const {
    return rows.capacity() * sizeof rows[0] + starts.capacity() * sizeof starts[0] +
           entries.capacity() * sizeof entries[0];
  }
  /// By the place of the row.
  RowEntries on(std::size_t place) const {
    return std::span(entries).subspan(starts[place], starts[place + 1] - starts[place]);
  }
  /// Empty: none there.
  RowEntries at(Row row) const;
};
/// Nodes apart; nullptr: none.
std::shared_ptr<Matched> by_row(Entries entries);

/// What pods find that say nothing of reservations themselves: found once for a label set, and looked at
/// again on rows that changed. The answer stays with its rows as long as somebody has it.
class KeptMatches {
 public:
  KeptMatches(const Ledger& ledger, const PluginContext& context) : ledger_(ledger), context_(context) {}
  /// nullptr: none. Only while the ledger reads labels alone.
  std::shared_ptr<const Matched> find(const PodInfo& pod);

 private:
  struct Kept {
    LabelSetRef set;
    std::uint64_t ledger = 0, nodes = 0;
    std::shared_ptr<Matched> found = {};
  };
  bool serves(const Ledger::Entry& entry) const;
  std::shared_ptr<Matched> match(const PodInfo& pod);
  bool repair(Kept& kept) const;
  void look_again(Kept& kept, Row row) const;

  const Ledger& ledger_;
  const PluginContext& context_;
  std::unordered_map<const LabelSet*, Kept> kept_;
  std::uint64_t serials_ = 0;
};

/// What a pod finds on a row of which it may use reservations: put into the view that has their reserve pods
/// out.
struct Seen {
  Entries entries;
};
/// As if these were not there: their pods, ports and what counts twice.
void take_out(RowEntries entries, NodeView& view);
/// The same as other plugins read it.
std::shared_ptr<const OpenRooms> open_rooms(RowEntries entries, bool required, bool all);

/// How resources are counted in reservations.
struct IgnoredResources {
  std::vector<std::string> names, groups;
  bool has(std::string_view name) const;
};

/// The room of a row as it would be, in the node and in the reservations that the pod may use, whose reserve
/// pods are out of the view.
class Rooms {
 public:
  Rooms(const Ledger& ledger, const NodeView& view, RowEntries mine);

  /// Pods that the view takes away live in reservations: their room goes back to these, and not to the node.
  bool returns() const { return !blocked_.empty(); }
  /// What of these amounts the node has too little of, with what the reservation keeps of the resources that
  /// it counts (nullptr: without any), by place in `wanted`.
  std::vector<std::size_t> short_of(std::span<const Amount> wanted, const Ledger::Entry* through) const;
  /// What the reservation's pods have of it then.
  const Taken& taken(const Ledger::Entry& entry) const;

 private:
  struct Room {
    const Ledger::Entry* entry;
    std::optional<Taken> taken;  // absent: as it is
    Amounts twice;
    bool mine;
    bool gone = false;  // its reserve pod is out of the view, and it is not the pod's
  };
  __extension__ using Wide = __int128;  // amounts may be as large as a number can be
  struct Beside {
    ResourceId resource;
    Wide free;
  };
  Wide beside(ResourceId resource) const;
  Room& room(const Ledger::Entry& entry);
  const Room* find(const Ledger::Entry& entry) const;
  std::int64_t left(const Room& room, ResourceId resource) const;

  const Ledger& ledger_;
  const NodeView& view_;
  std::vector<Room> rooms_;
  Amounts blocked_;  // taken, though the view does not say so
  mutable std::vector<Beside> beside_;
  mutable std::size_t cursor_ = 0;
};

}  // namespace koord::scheduling::reservation
