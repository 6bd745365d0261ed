// RawJson: a part of an object that is kept as JSON text.
#pragma once

#include <string>

namespace koord::api {

/// One JSON value as compact text, or empty if it is absent. For parts whose form is another program's:
/// extensions, embedded objects, schemas.
struct RawJson {
  std::string text;

  bool empty() const { return text.empty(); }
  friend bool operator==(const RawJson&, const RawJson&) = default;
};

}  // namespace koord::api
