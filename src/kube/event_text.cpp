#include "event_text.hpp"

#include <fmt/format.h>

#include "koord/api/values/time.hpp"
#include "koord/base/text.hpp"
#include "koord/json/writer.hpp"

namespace koord::kube {

namespace {

void append_reference(json::Writer& json, std::string_view name, const EventObject& object) {
  json.key(name).begin_object();
  json.member_if("kind", object.kind).member_if("namespace", object.ns).member_if("name", object.name);
  json.member_if("uid", object.uid);
  if (!object.version.empty())
    json.member("apiVersion", object.group.empty() ? std::string(object.version)
                                                   : fmt::format("{}/{}", object.group, object.version));
  json.member_if("resourceVersion", object.resource_version).end_object();
}

}  // namespace

EventTemplate::EventTemplate(std::string_view controller, std::string_view instance) {
  json::Writer json(head_);
  json.begin_object().member("apiVersion", "events.k8s.io/v1").member("kind", "Event");
  json.member("reportingController", controller).member("reportingInstance", instance);
  json.key("metadata").begin_object();
}

std::string EventTemplate::rest(const EventRecord& event, std::string_view ns, std::string_view name,
                                WallTime at) {
  std::string out;
  out.reserve(event.note.size() + 1024);
  json::Writer json(out);
  json.member("namespace", ns).member("name", name).end_object();
  json.member("eventTime", api::MicroTime(at).to_string());
  json.member("type", event.type == EventType::warning ? "Warning" : "Normal");
  json.member_if("reason", event.reason).member_if("action", event.action);
  json.member_if("note", cut_note(event.note));
  append_reference(json, "regarding", event.regarding);
  if (!event.related.name.empty()) append_reference(json, "related", event.related);
  json.end_object();
  out.shrink_to_fit();
  return out;
}

std::string EventTemplate::whole(std::string_view rest) const {
  std::string out;
  out.reserve(head_.size() + rest.size());
  out += head_;
  out += rest;
  return out;
}

std::string EventTemplate::series(int count, WallTime last) {
  std::string out;
  json::Writer json(out);
  json.begin_object().key("series").begin_object();
  json.member("count", count).member("lastObservedTime", api::MicroTime(last).to_string());
  json.end_object().end_object();
  return out;
}

}  // namespace koord::kube
