#include "event_text.hpp"

#include "koord/api/values/time.hpp"
#include "koord/base/text.hpp"

namespace koord::kube {

namespace {

void append_member(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (out.back() != '{') out += ',';
  out += '"';
  out += name;
  out += "\":";
  append_json_string(out, value);
}

void append_reference(std::string& out, std::string_view name, const EventObject& object) {
  out += ",\"";
  out += name;
  out += "\":{";
  append_member(out, "kind", object.kind);
  append_member(out, "namespace", object.ns);
  append_member(out, "name", object.name);
  append_member(out, "uid", object.uid);
  if (!object.version.empty()) {
    out += ",\"apiVersion\":\"";
    if (!object.group.empty()) (out += object.group) += '/';
    (out += object.version) += '"';
  }
  append_member(out, "resourceVersion", object.resource_version);
  out += '}';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    std::size_t length = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      out += "\\u00";
      out += "0123456789abcdef"[c >> 4];
      out += "0123456789abcdef"[c & 15];
    } else if (length = utf8_length(text); length == 0) {
      out += "\xef\xbf\xbd";
      length = 1;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

EventTemplate::EventTemplate(std::string_view controller, std::string_view instance) {
  head_ = R"({"apiVersion":"events.k8s.io/v1","kind":"Event","reportingController":)";
  append_json_string(head_, controller);
  head_ += R"(,"reportingInstance":)";
  append_json_string(head_, instance);
  head_ += R"(,"metadata":{"namespace":)";
}

std::string EventTemplate::create(const EventRecord& event, std::string_view ns, std::string_view name,
                                  WallTime at) const {
  std::string out;
  out.reserve(head_.size() + event.note.size() + 512);
  out += head_;
  append_json_string(out, ns);
  out += R"(,"name":)";
  append_json_string(out, name);
  out += R"(},"eventTime":")";
  out += api::MicroTime(at).to_string();
  out += event.type == EventType::warning ? R"(","type":"Warning")" : R"(","type":"Normal")";
  append_member(out, "reason", event.reason);
  append_member(out, "action", event.action);
  append_member(out, "note", cut_note(event.note));
  append_reference(out, "regarding", event.regarding);
  if (!event.related.name.empty()) append_reference(out, "related", event.related);
  out += '}';
  return out;
}

std::string EventTemplate::series(int count, WallTime last) {
  return R"({"series":{"count":)" + std::to_string(count) + R"(,"lastObservedTime":")" +
         api::MicroTime(last).to_string() + "\"}}";
}

}  // namespace koord::kube
