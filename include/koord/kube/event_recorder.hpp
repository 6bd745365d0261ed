// EventRecorder: writes events.k8s.io/v1 Events about objects, in the background and within limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/async/task_group.hpp"
#include "koord/kube/store.hpp"

namespace koord::kube {

class Client;

struct EventRecorderConfig {
  std::string controller;  // reportingController: "koord-scheduler"
  std::string instance;    // reportingInstance: "koord-scheduler-HOST"
  /// Events that wait for the server; beyond that the oldest is dropped and counted.
  std::size_t queue_limit = 20'000;
  /// Requests in flight.
  int connections = 16;
  /// Token bucket of each regarding object: so many at once, and one more each `refill`.
  int burst = 25;
  nanoseconds refill = std::chrono::minutes(5);
  /// The same event again within this time becomes a series of the first.
  nanoseconds series_window = std::chrono::minutes(6);
  /// A series that goes on is written this often.
  nanoseconds series_refresh = std::chrono::minutes(30);
  /// Objects and events that are remembered for the two limits above; the longest unused is forgotten.
  std::size_t memory_limit = 4096;
  std::uint64_t seed = 1;
  std::optional<Logger> log;  // told of events that the server refuses
};

enum class EventType { normal, warning };

/// What an event is about.
struct EventObject {
  std::string_view group, version;
  std::string_view kind;
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  std::string_view resource_version;
};
EventObject event_object(const ObjectType& type, const void* object);
template <class T>
EventObject event_object(const T& object) {
  return event_object(kObjectType<T>, &object);
}

struct EventRecord {
  EventObject regarding;
  EventType type = EventType::normal;
  std::string_view reason;   // "FailedScheduling"
  std::string_view action;   // "Scheduling"
  std::string_view note;     // cut to 1024 bytes, between characters, ending in " ..."
  EventObject related = {};  // name empty: none
  /// False for what happens to an object once ("Scheduled"): neither counted, limited nor remembered.
  bool repeats = true;
  /// For what is told once, whichever process finds it first, while the event is kept: its name. One that is
  /// there already stays as it is; what is named never repeats. Empty: a name of its own.
  std::string_view name = {};
};

struct EventCounts {
  std::uint64_t recorded = 0;
  std::uint64_t written = 0;
  std::uint64_t merged = 0;   // became part of a series
  std::uint64_t limited = 0;  // over the object's token bucket
  std::uint64_t dropped = 0;  // the queue was full
  std::uint64_t failed = 0;   // the server refused, or did not answer in time
};

/// Belongs to the event loop's thread.
class EventRecorder {
 public:
  EventRecorder(asio::any_io_executor executor, Client& client, Clock& clock, EventRecorderConfig config);
  ~EventRecorder();

  /// Copies what it needs and returns; never waits, never fails.
  void record(const EventRecord& event);
  /// Writes what is queued for up to `grace`, then ends. Await before destroying.
  Task<> stop(nanoseconds grace = std::chrono::seconds(2));

  const EventCounts& counts() const;
  std::size_t queued() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::kube
