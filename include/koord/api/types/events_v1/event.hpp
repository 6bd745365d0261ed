// events.k8s.io/v1: Event.
#pragma once

#include "koord/api/types/core_v1/object_reference.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct EventSeries {
  int32_t count = 0;
  MicroTime last_observed_time;
  KOORD_STRUCT(EventSeries);
};

struct EventSource {
  Symbol component;
  Symbol host;
  KOORD_STRUCT(EventSource);
};

struct Event {
  ObjectMeta metadata;
  MicroTime event_time;
  Box<EventSeries> series;
  Symbol reporting_controller;
  std::string reporting_instance;
  Symbol action;
  Symbol reason;
  ObjectReference regarding;
  Box<ObjectReference> related;
  std::string note;
  Symbol type;  // Normal, Warning
  // Of events written through the older core/v1 API.
  EventSource deprecated_source;
  Time deprecated_first_timestamp;
  Time deprecated_last_timestamp;
  int32_t deprecated_count = 0;
  KOORD_STRUCT(Event);
};

}  // namespace koord::api
