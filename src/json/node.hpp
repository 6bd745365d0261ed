// RapidJSON's value behind json::Value, for the .cpp files of this module.
#pragma once

// A value of 16 bytes wherever a process' addresses have 48 bits, as they have for programs that do not ask
// for more: RapidJSON does it for amd64 alone.
#if defined(__aarch64__)
#define RAPIDJSON_48BITPOINTER_OPTIMIZATION 1
#endif
#if defined(__clang__)
// Its stack adds to null pointers, which is harmless and undefined.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/document.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif

#include <span>
#include <string_view>

#include "koord/json/value.hpp"

namespace koord::json {

/// RapidJSON's idea of an allocator, over an Arena.
struct NodeMemory {
  static const bool kNeedFree = false;
  Arena* arena = nullptr;

  void* Malloc(std::size_t size) { return size == 0 ? nullptr : arena->allocate(size); }
  void* Realloc(void* old, std::size_t size, std::size_t wanted) { return arena->grow(old, size, wanted); }
  static void Free(void*) {}
};

using Node = rapidjson::GenericValue<rapidjson::UTF8<>, NodeMemory>;
using NodeBuilder = rapidjson::GenericDocument<rapidjson::UTF8<>, NodeMemory>;

// A Value is the bytes of a Node and looked at as one here only; elsewhere its bytes are moved as bytes.
static_assert(sizeof(Node) == sizeof(Value) && alignof(Node) <= alignof(Value));
static_assert(sizeof(Node::Member) == sizeof(Member) && alignof(Node::Member) <= alignof(Member));
inline Node& node_of(Value& value) { return reinterpret_cast<Node&>(value); }
inline const Node& node_of(const Value& value) { return reinterpret_cast<const Node&>(value); }
inline Value& value_of(Node& node) { return reinterpret_cast<Value&>(node); }

/// Of a draft (see patch.hpp) most texts are the original's own.
inline bool same_text(std::string_view a, std::string_view b) {
  return a.data() == b.data() ? a.size() == b.size() : a == b;
}
inline std::string_view view(const Node& string) { return {string.GetString(), string.GetStringLength()}; }

}  // namespace koord::json
