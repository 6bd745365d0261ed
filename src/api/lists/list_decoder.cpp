#include "koord/api/lists/list_decoder.hpp"

#include "../schema/object_decoder.hpp"
#include "koord/api/lists/object_event.hpp"
#include "koord/json/deep_reader.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

/// The events of an object whose members this and nobody else knows: hands the events of a member's value
/// to a decoder, or skips them.
class Envelope : public json::Events {
 public:
  bool on_null() override { return inner() ? pass(decoder_.on_null()) : !enough_; }
  bool on_bool(bool value) override { return inner() ? pass(decoder_.on_bool(value)) : !enough_; }
  bool on_number(std::string_view text) override {
    return inner() ? pass(decoder_.on_number(text)) : !enough_;
  }
  bool on_string(std::string_view value) override {
    if (inner()) return pass(decoder_.on_string(value));
    if (depth_ == 1) on_text(value);
    return !enough_;
  }
  bool on_begin_object() override {
    if (inner()) return pass(decoder_.on_begin_object());
    seen_ = true;
    ++depth_;
    return !enough_;
  }
  bool on_begin_array() override {
    if (inner()) return pass(decoder_.on_begin_array());
    if (depth_ == 0) return false;
    ++depth_;
    if (depth_ == 2) in_items_ = wants_elements();
    return !enough_;
  }
  bool on_end_object() override {
    if (active()) return pass(decoder_.on_end_object());
    --depth_;
    return true;
  }
  bool on_end_array() override {
    if (active()) return pass(decoder_.on_end_array());
    --depth_;
    in_items_ = false;
    return true;
  }
  bool on_key(std::string_view key) override {
    if (!active()) {
      if (depth_ == 1) key_.assign(key);
      return true;
    }
    const bool go_on = pass(decoder_.on_key(key));
    if (decoder_.take_skip()) skip_value();
    return go_on;
  }
  Error stop_error() override {
    if (enough_) return Error(Code::too_large, "the list has more items than are read");
    return Error(Code::parse, "expected an object");
  }
  /// An object was there.
  bool seen() const { return seen_; }

 protected:
  // A value begins at depth 1, the member is key(): starts the decoder if the value is wanted.
  virtual bool begin_member(ObjectDecoder& decoder) = 0;
  // An element of the list of key() begins; false: it is one too many.
  virtual bool begin_element(ObjectDecoder&) { return false; }
  virtual bool wants_elements() const { return false; }
  virtual void end_value(const ObjectDecoder& decoder, bool element) = 0;
  virtual void on_text(std::string_view) {}
  const std::string& key() const { return key_; }

 private:
  bool active() const { return !decoder_.done(); }
  // True if the value that begins now belongs to the decoder.
  bool inner() {
    if (active()) return true;
    if (depth_ == 2 && in_items_) {
      enough_ = !begin_element(decoder_);
      return !enough_;
    }
    return depth_ == 1 && begin_member(decoder_);
  }
  bool pass(bool go_on) {
    if (decoder_.done()) end_value(decoder_, depth_ == 2);
    return go_on;
  }

  ObjectDecoder decoder_{ObjectDecoder::Mode::tolerant, false};
  std::string key_;
  int depth_ = 0;
  bool seen_ = false;
  bool in_items_ = false;
  bool enough_ = false;
};

class ListReader final : public Envelope {
 public:
  ListReader(const Schema& item, ItemSink& sink) : item_(item), sink_(sink) {}

  ListMeta meta;
  std::string kind;
  std::optional<Error> meta_error;

 private:
  bool begin_member(ObjectDecoder& decoder) override {
    if (key() != "metadata") return false;
    decoder.start(type_of<ListMeta>, &meta, false, ".metadata");
    return true;
  }
  bool wants_elements() const override { return key() == "items"; }
  bool begin_element(ObjectDecoder& decoder) override {
    void* const item = sink_.begin_item();
    if (item == nullptr) return false;
    decoder.start(item_.self(), item, true, ".items[" + std::to_string(count_++) + "]");
    return true;
  }
  void end_value(const ObjectDecoder& decoder, bool element) override {
    if (element)
      sink_.end_item(decoder.error() ? &*decoder.error() : nullptr);
    else if (decoder.error())
      meta_error = decoder.error();
  }
  void on_text(std::string_view text) override {
    if (key() == "kind") kind.assign(text);
  }

  const Schema& item_;
  ItemSink& sink_;
  size_t count_ = 0;
};

class WatchReader final : public Envelope {
 public:
  /// `type` is empty, or known from an earlier reading.
  WatchReader(const Schema& schema, void* object, std::string known_type)
      : type(std::move(known_type)), schema_(schema), object_(object) {}

  std::string type;
  Status status;
  bool object_seen = false;
  bool object_skipped = false;  // it came before the type
  std::optional<Error> error;

 private:
  bool begin_member(ObjectDecoder& decoder) override {
    if (key() != "object") return false;
    object_seen = true;
    object_skipped = type.empty();
    if (object_skipped) return false;
    const bool failed = type == "ERROR";
    decoder.start(failed ? type_of<Status> : schema_.self(), failed ? &status : object_, true, ".object");
    return true;
  }
  void end_value(const ObjectDecoder& decoder, bool) override { error = decoder.error(); }
  void on_text(std::string_view text) override {
    if (key() == "type") type.assign(text);
  }

  const Schema& schema_;
  void* object_;
};

std::optional<WatchType> watch_type(std::string_view text) {
  if (text == "ADDED") return WatchType::added;
  if (text == "MODIFIED") return WatchType::modified;
  if (text == "DELETED") return WatchType::deleted;
  if (text == "BOOKMARK") return WatchType::bookmark;
  if (text == "ERROR") return WatchType::error;
  return std::nullopt;
}

bool ends_initial_events(const Schema& schema, const void* object) {
  const Field* metadata = schema.find("metadata");
  if (!metadata || metadata->type != &type_of<ObjectMeta>) return false;
  const auto& meta =
      *reinterpret_cast<const ObjectMeta*>(static_cast<const char*>(object) + metadata->offset);
  return value_or(meta.annotations, kInitialEventsEnd) == "true";
}

Result<> read_envelope(std::string_view json, Envelope& envelope) {
  KOORD_CHECK(json::read_listed(json, envelope));
  if (!envelope.seen()) return envelope.stop_error();
  return {};
}

}  // namespace

Result<ListMeta> decode_list(std::string_view json, const Schema& item, ItemSink& sink) {
  ListReader reader(item, sink);
  KOORD_CHECK(read_envelope(json, reader));
  if (reader.kind == "Status") return error_of_response(500, json);
  if (reader.meta_error) return *reader.meta_error;
  return std::move(reader.meta);
}

Result<ObjectEvent> decode_object_event(std::string_view json, const Schema& schema, void* object) {
  WatchReader reader(schema, object, {});
  KOORD_CHECK(read_envelope(json, reader));
  if (reader.object_skipped && !reader.type.empty()) {
    WatchReader again(schema, object, reader.type);
    KOORD_CHECK(read_envelope(json, again));
    reader.status = std::move(again.status);
    reader.error = std::move(again.error);
  }
  const auto type = watch_type(reader.type);
  if (!type) return Error(Code::parse, "watch event: unknown type \"" + reader.type + "\"");
  if (!reader.object_seen) return Error(Code::parse, "watch event: no object");
  ObjectEvent line;
  line.type = *type;
  if (reader.error && (line.type == WatchType::bookmark || line.type == WatchType::error))
    return *reader.error;
  line.malformed = std::move(reader.error);
  if (line.type == WatchType::error) line.error = to_error(reader.status);
  if (line.type == WatchType::bookmark) line.initial_events_end = ends_initial_events(schema, object);
  return line;
}

Result<WatchLine> decode_watch_line(std::string_view json, const Schema& schema, void* object) {
  KOORD_TRY(event, decode_object_event(json, schema, object));
  if (event.malformed) return *std::move(event.malformed);
  return static_cast<WatchLine&&>(std::move(event));
}

}  // namespace koord::api
