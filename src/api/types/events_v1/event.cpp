// The schema tables of koord/api/types/events_v1/event.hpp: Event.
#include "koord/api/types/events_v1/event.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kEventShort[] = {"ev"};
constexpr Kind kEvent = {.group = "events.k8s.io",
                         .version = "v1",
                         .kind = "Event",
                         .plural = "events",
                         .singular = "event",
                         .short_names = kEventShort};

}  // namespace

template <>
const Schema& schema<EventSeries>() {
  using T = EventSeries;
  static constexpr Field kRows[] = {
      KOORD_FIELD(count, "count").required(),
      KOORD_FIELD(last_observed_time, "lastObservedTime").required(),
  };
  static const Schema kSchema("EventSeries", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<EventSource>() {
  using T = EventSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(component, "component"),
      KOORD_FIELD(host, "host"),
  };
  static const Schema kSchema("EventSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Event>() {
  using T = Event;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(event_time, "eventTime").required(),
      KOORD_FIELD(series, "series"),
      KOORD_FIELD(reporting_controller, "reportingController"),
      KOORD_FIELD(reporting_instance, "reportingInstance"),
      KOORD_FIELD(action, "action"),
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(regarding, "regarding"),
      KOORD_FIELD(related, "related"),
      KOORD_FIELD(note, "note"),
      KOORD_FIELD(type, "type"),
      KOORD_FIELD(deprecated_source, "deprecatedSource"),
      KOORD_FIELD(deprecated_first_timestamp, "deprecatedFirstTimestamp"),
      KOORD_FIELD(deprecated_last_timestamp, "deprecatedLastTimestamp"),
      KOORD_FIELD(deprecated_count, "deprecatedCount"),
  };
  static const Schema kSchema("Event", kRows, type_of<T>, &kEvent);
  return kSchema;
}

}  // namespace koord::api
