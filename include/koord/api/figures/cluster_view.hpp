// ClusterView: a cluster at a glance, as `koord top --cluster`, `koord nodes`, `koord lent`, `koord quota`,
// `koord gangs` and `koord reservations` print it, and as their JSON has it. Units are in the names.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::figures {

struct Amount {
  double cpu_cores = 0;
  std::int64_t memory_bytes = 0;
  KOORD_STRUCT(Amount);
};

/// What pods of a class use, or the system does.
struct TierRow {
  std::string name;  // koord-prod, koord-mid, koord-batch, koord-free, none, system
  std::int64_t pods = 0;
  Amount used;
  KOORD_STRUCT(TierRow);
};

struct NodeRow {
  std::string name;
  std::string state;  // ready, cordoned, NotReady, "no report", "9m old"
  bool ready = false, cordoned = false;
  std::optional<api::Time> reported;  // absent: its agent never has, and nobody knows what it uses
  Amount capacity, used;
  Amount lent, asked;       // to batch pods, and by those that are on it
  bool over_asked = false;  // they ask for more than it lends (now)
  std::vector<TierRow> tiers;
  KOORD_STRUCT(NodeRow);
};

struct QuotaRow {
  std::string name;
  std::string parent;
  Amount min, used, requested;
  api::Box<Amount> may_use;  // absent: it shares with nobody
  double lent_cpu_cores = 0, borrowed_cpu_cores = 0;
  std::int64_t waiting = 0;  // pods that it refuses
  KOORD_STRUCT(QuotaRow);
};

struct GangRow {
  std::string name;                 // namespace/name
  std::string state;                // complete, waiting, short, ended, "does not exist"
  std::optional<std::int64_t> min;  // absent: nobody says it
  std::int64_t pods = 0, placed = 0, waiting = 0;
  std::optional<api::Time> since;  // the oldest of those that wait
  std::string why;                 // what the scheduler says of one of them
  KOORD_STRUCT(GangRow);
};

struct ReservationRow {
  std::string name, phase, node;
  api::Time created;
  Amount reserved, used;
  std::int64_t owners = 0;  // pods that have room of it
  std::string why;          // why it waits
  KOORD_STRUCT(ReservationRow);
};

/// Pods and reservations that wait for the same reason.
struct WaitRow {
  std::string why;  // the scheduler's words
  std::int64_t pods = 0;
  std::vector<std::string> examples;
  api::Time oldest;
  KOORD_STRUCT(WaitRow);
};

/// A group that waiting pods name, and that is not there.
struct MissingRow {
  std::string kind;  // gang, quota
  std::string name;
  std::int64_t pods = 0;  // that wait and name it
  KOORD_STRUCT(MissingRow);
};

struct ClusterView {
  std::string server;
  api::Time time;
  std::int64_t ready = 0;      // nodes
  std::int64_t reporting = 0;  // whose agent has said something in the last minutes
  std::int64_t silent = 0;     // whose agent never has
  std::int64_t lending = 0;    // that lend batch CPU
  std::int64_t over_asked = 0;
  std::int64_t waiting_pods = 0, waiting_reservations = 0;
  Amount capacity, used;  // of nodes that have reported
  Amount unknown;         // the capacity of those that never have
  Amount lent, asked, batch_used;
  std::vector<TierRow> tiers;
  std::vector<NodeRow> nodes;  // by name
  std::vector<QuotaRow> quotas;
  std::vector<GangRow> gangs;
  std::vector<ReservationRow> reservations;
  std::vector<WaitRow> waiting;   // most first
  std::int64_t more_waiting = 0;  // for other reasons than those
  std::vector<MissingRow> missing;
  std::vector<std::string> notes;  // what could not be read
  KOORD_STRUCT(ClusterView);
};

/// "12 Insufficient cpu (0/12 nodes)" of "0/12 nodes are available: 12 Insufficient cpu. preemption: ...":
/// what matters first. Other texts are as they are.
std::string reason_first(std::string_view message);
/// "90s", "5m", "3h", "2d"; below nothing it is nothing.
std::string age(std::chrono::seconds seconds);

}  // namespace koord::figures
