// The JSON of events, written from templates: a scheduler writes thousands a second.
#pragma once

#include <string>
#include <string_view>

#include "koord/kube/event_recorder.hpp"

namespace koord::kube {

class EventTemplate {
 public:
  EventTemplate(std::string_view controller, std::string_view instance);
  /// The body of a POST but for what all of them begin with: thousands may wait to be sent.
  static std::string rest(const EventRecord& event, std::string_view ns, std::string_view name, WallTime at);
  std::string whole(std::string_view rest) const;
  /// The merge patch of a series.
  static std::string series(int count, WallTime last);

 private:
  std::string head_;  // all that is the same in every event
};

}  // namespace koord::kube
