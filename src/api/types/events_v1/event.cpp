// The schema tables of koord/api/types/events_v1/event.hpp: Event.
#include "koord/api/types/events_v1/event.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(EventSeries, ROW(count).required(), ROW(last_observed_time).required());
KOORD_SCHEMA(EventSource, ROW(component), ROW(host));
KOORD_OBJECT(Event, Kind("events.k8s.io/v1", "Event", "events"), ROW(metadata), ROW(event_time).required(),
             ROW(series), ROW(reporting_controller), ROW(reporting_instance), ROW(action), ROW(reason),
             ROW(regarding), ROW(related), ROW(note), ROW(type), ROW(deprecated_source),
             ROW(deprecated_first_timestamp), ROW(deprecated_last_timestamp), ROW(deprecated_count));

}  // namespace koord::api
