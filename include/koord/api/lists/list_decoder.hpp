// Decoding of lists and watch lines into typed objects, item by item, in one pass and without a DOM.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/types/meta_v1/status.hpp"

namespace koord::api {

/// Receives the items of a list as they are read.
class ItemSink {
 public:
  virtual ~ItemSink() = default;
  /// A default-constructed object for the next item; null: there are enough, the list is refused.
  virtual void* begin_item() = 0;
  /// The item is complete. If `error` is set, a value in it has the wrong type: the rest of that item was
  /// skipped and what is there is partial; the other items are not affected.
  virtual void end_item(const Error* error) = 0;
};

/// Reads a List body (one page). A Status instead of a list is returned as its error, a sink that has enough
/// is Code::too_large.
Result<ListMeta> decode_list(std::string_view json, const Schema& item, ItemSink& sink);

/// Calls on_item(std::shared_ptr<const T>) for each item and on_error(const T& partial, const Error&) for
/// an item with a value of the wrong type. Reading ends at the first item beyond `most`.
template <class T, class OnItem, class OnError>
Result<ListMeta> decode_list(std::string_view json, OnItem on_item, OnError on_error,
                             std::size_t most = static_cast<std::size_t>(-1)) {
  struct Sink final : ItemSink {
    Sink(OnItem& i, OnError& e, std::size_t m) : on_item(i), on_error(e), left(m) {}
    void* begin_item() override {
      if (left-- == 0) return nullptr;
      item = std::make_shared<T>();
      return item.get();
    }
    void end_item(const Error* error) override {
      if (error)
        on_error(static_cast<const T&>(*item), *error);
      else
        on_item(std::shared_ptr<const T>(std::move(item)));
    }
    OnItem& on_item;
    OnError& on_error;
    std::size_t left;
    std::shared_ptr<T> item;
  } sink(on_item, on_error, most);
  return decode_list(json, schema<T>(), sink);
}

enum class WatchType { added, modified, deleted, bookmark, error };

/// The envelope of a watch line; the object itself was decoded into the caller's.
struct WatchLine {
  WatchType type = WatchType::error;
  /// For WatchType::error: what the server said (Code::gone means relist).
  Error error;
  /// For WatchType::bookmark: it ends the initial events of a watch-list (k8s.io/initial-events-end).
  bool initial_events_end = false;
};

/// Reads one line {"type":...,"object":...} into `object`, a default-constructed value of the schema's
/// type. For a bookmark only its metadata.resourceVersion is set; for an error it is untouched.
Result<WatchLine> decode_watch_line(std::string_view json, const Schema& schema, void* object);

template <class T>
struct WatchEvent : WatchLine {
  /// Never null.
  std::shared_ptr<const T> object;
};

template <class T>
Result<WatchEvent<T>> decode_watch_line(std::string_view json) {
  auto object = std::make_shared<T>();
  auto line = decode_watch_line(json, schema<T>(), object.get());
  if (!line) return std::move(line).error();
  WatchEvent<T> event;
  static_cast<WatchLine&>(event) = std::move(*line);
  event.object = std::move(object);
  return event;
}

}  // namespace koord::api
