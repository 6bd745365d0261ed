// How a plain struct takes part in the API: one line in the struct, and a table of its rows in a .cpp.
//
//   struct ContainerPort {                   // in a header, any namespace
//     Symbol name;
//     int32_t host_port = 0;
//     KOORD_STRUCT(ContainerPort);
//   };
//   KOORD_SCHEMA(ContainerPort, ROW(name), ROW(host_port).doc("Port on the node."))  // see table.hpp
//
// What a member's type says of absence, on the wire and in memory:
// - Plain (text, number, bool, list, map, structure): absent and empty (zero, false, the epoch) mean the
// same.
//   Empty is not written, unless its row is required() or always(). The choice wherever it is true.
// - std::optional of a scalar: absent and zero mean different things, as a pointer's in Go.
// - Maybe: the same in objects that are cached by the hundred thousand, where twice the bytes count.
// - Box: a structure that is absent in most objects, or whose absence differs from one with nothing in it.
// A null is absent everywhere.
#pragma once

namespace koord::api {

class Schema;
struct Kind;

/// Stands last in a struct that has a schema: what is equal, and where its table is.
#define KOORD_STRUCT(T)                                                  \
  [[maybe_unused]] friend bool operator==(const T&, const T&) = default; \
  static const ::koord::api::Schema& koord_schema()

/// The schema of a struct with KOORD_STRUCT. Made once, immutable, shared by all threads.
template <class T>
const Schema& schema() {
  return T::koord_schema();
}

/// The kind of an object's schema; a part of an object has none, and asking is misuse.
const Kind& kind_of(const Schema& schema);

/// The kind of an object type such as Pod.
template <class T>
const Kind& kind() {
  return kind_of(schema<T>());
}

}  // namespace koord::api
