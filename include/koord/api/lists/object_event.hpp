// A watch line whose object may be malformed: for who goes on with the others.
#pragma once

#include <optional>
#include <string_view>

#include "koord/api/lists/list_decoder.hpp"

namespace koord::api {

/// What decode_watch_line() gives, and what is wrong with the object.
struct ObjectEvent : WatchLine {
  /// Of an object that was added, modified or deleted: a value in it has the wrong type. The rest of it was
  /// skipped and what is there is partial; by its metadata, which come first, it is known which one it is.
  std::optional<Error> malformed;
};

/// As decode_watch_line(); an error says that the line as a whole cannot be read.
Result<ObjectEvent> decode_object_event(std::string_view json, const Schema& schema, void* object);

}  // namespace koord::api
