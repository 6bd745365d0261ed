// Reading a collection's history for one watcher.
#include "sandbox/store/watch.hpp"

#include <fmt/format.h>

#include "koord/json/writer.hpp"
#include "sandbox/base/status.hpp"

namespace koord::sandbox {
namespace {

const Bytes& prefix(Change::Type type) {
  static const Bytes kAdded = std::make_shared<const std::string>(R"({"type":"ADDED","object":)");
  static const Bytes kModified = std::make_shared<const std::string>(R"({"type":"MODIFIED","object":)");
  static const Bytes kDeleted = std::make_shared<const std::string>(R"({"type":"DELETED","object":)");
  return type == Change::Type::added ? kAdded : type == Change::Type::modified ? kModified : kDeleted;
}

const Bytes& suffix() {
  static const Bytes kEnd = std::make_shared<const std::string>("}\n");
  return kEnd;
}

}  // namespace

Watch::Watch(Collection& collection, WatchOptions options)
    : collection_(collection), options_(std::move(options)) {
  if (options_.after) {
    next_ = collection_.change_after(*options_.after);
  } else {
    next_ = collection_.end_change();
    for (const auto& [key, object] : collection_.objects())
      if (concerns(*object)) initial_.push_back(object);
    owes_initial_end_ = options_.initial_end;
  }
  collection_.add_listener(*this);
}

Watch::~Watch() { collection_.remove_listener(*this); }

bool Watch::concerns(const Object& object) const {
  if (!options_.ns.empty() && object.ns != options_.ns) return false;
  if (!options_.name.empty() && object.name != options_.name) return false;
  return !options_.match || options_.match(object);
}

void Watch::emit(std::vector<Bytes>& out, Change::Type type, const ObjectPtr& object) const {
  out.push_back(prefix(type));
  out.push_back(options_.render ? options_.render(object) : bytes_of(object));
  out.push_back(suffix());
}

bool Watch::emit_change(std::vector<Bytes>& out, const Change& change) const {
  if (change.type == Change::Type::deleted) {
    if (!concerns(*change.previous)) return false;
    emit(out, change.type, change.object);
    return true;
  }
  bool now = concerns(*change.object);
  bool before = change.previous && concerns(*change.previous);
  if (!now && !before) return false;
  if (now)
    emit(out, before ? Change::Type::modified : Change::Type::added, change.object);
  else  // it has left the selection: seen as gone, in its last selected state
    emit(out, Change::Type::deleted, with_resource_version(*change.previous, change.rv));
  return true;
}

void Watch::emit_bookmark(std::vector<Bytes>& out, bool initial_end) const {
  std::string text;
  json::Writer json(text);
  json.begin_object().member("type", "BOOKMARK").key("object").begin_object();
  json.member("kind", options_.kind)
      .member("apiVersion", options_.api_version)
      .key("metadata")
      .begin_object();
  json.member("resourceVersion", fmt::to_string(collection_.store().version()));
  json.key("creationTimestamp").null();
  if (initial_end)
    json.key("annotations").begin_object().member("k8s.io/initial-events-end", "true").end_object();
  json.end_object().end_object().end_object();
  text.push_back('\n');
  out.push_back(std::make_shared<const std::string>(std::move(text)));
}

Watch::State Watch::read(std::vector<Bytes>& out, std::size_t max_events) {
  if (ended_) return State::ended;
  std::size_t given = 0;
  for (; initial_next_ < initial_.size() && given < max_events; ++given)
    emit(out, Change::Type::added, initial_[initial_next_++]);
  if (initial_next_ < initial_.size()) return State::ready;
  initial_ = {};
  initial_next_ = 0;
  if (failure_) {
    out.push_back(std::make_shared<const std::string>(
        fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n", *failure_)));
    ended_ = true;
    return State::ready;
  }
  if (next_ < collection_.first_change()) {
    failure_ = expired("The resourceVersion for the provided watch is too old.").to_json();
    return read(out, max_events);
  }
  // A change that does not concern the watcher counts too: a batch takes a bounded time.
  for (; next_ < collection_.end_change() && given < max_events; ++next_)
    given += emit_change(out, collection_.change(next_));
  if (next_ < collection_.end_change()) return State::ready;
  if (owes_initial_end_ || owes_bookmark_) {
    emit_bookmark(out, owes_initial_end_);
    owes_initial_end_ = owes_bookmark_ = false;
    ++given;
  }
  return given > 0 ? State::ready : State::waiting;
}

void Watch::on_changes() {
  if (!wake_) return;
  auto wake = std::exchange(wake_, nullptr);
  wake();
}

void Watch::want_bookmark() {
  if (!options_.bookmarks) return;
  owes_bookmark_ = true;
  on_changes();
}

void Watch::end() {
  ended_ = true;
  on_changes();
}

void Watch::fail(std::string status_json) {
  failure_ = std::move(status_json);
  on_changes();
}

}  // namespace koord::sandbox
