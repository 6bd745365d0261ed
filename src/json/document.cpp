// Documents: their memory, building them from text, copying them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "koord/json/patch.hpp"
#include "koord/json/reader.hpp"
#include "node.hpp"
#include "position.hpp"

namespace koord::json {

// Followed by its bytes.
struct alignas(16) Arena::Chunk {
  Chunk* older;
  std::size_t size;
};

Arena::~Arena() {
  while (chunk_) std::free(std::exchange(chunk_, chunk_->older));
}

void Arena::add_chunk(std::size_t size) {
  constexpr std::size_t kFirst = 4096, kDoubledUpTo = 1 << 20;
  if (chunk_) size = std::max(size, std::min(chunk_->size * 2, kDoubledUpTo));
  size = std::max(size, kFirst - sizeof(Chunk));
  void* const memory = std::malloc(sizeof(Chunk) + size);
  if (!memory) throw std::bad_alloc();
  chunk_ = new (memory) Chunk{chunk_, size};
  at_ = static_cast<char*>(memory) + sizeof(Chunk);
  end_ = at_ + size;
}

void* Arena::allocate(std::size_t size) {
  size = (size + 7) & ~std::size_t{7};
  if (static_cast<std::size_t>(end_ - at_) < size) add_chunk(size);
  used_ += size;
  return std::exchange(at_, at_ + size);
}

void* Arena::grow(void* old, std::size_t size, std::size_t wanted) {
  if (!old) return allocate(wanted);
  size = (size + 7) & ~std::size_t{7};
  char* const start = static_cast<char*>(old);
  const std::size_t more = ((wanted + 7) & ~std::size_t{7}) - size;
  if (start + size == at_ && static_cast<std::size_t>(end_ - at_) >= more) {
    at_ += more;
    used_ += more;
    return old;
  }
  void* const place = allocate(wanted);
  std::memcpy(place, old, size);
  return place;
}

void Arena::clear() {
  used_ = 0;
  if (!chunk_) return;
  // The newest is the largest, but for one that a single large piece asked for.
  while (chunk_->older) {
    Chunk* const older = chunk_->older;
    if (older->size > chunk_->size)
      std::free(std::exchange(chunk_, older));
    else
      chunk_->older = older->older, std::free(older);
  }
  at_ = reinterpret_cast<char*>(chunk_) + sizeof(Chunk);
  end_ = at_ + chunk_->size;
}

namespace {

/// Builds nodes from events. Strings without escapes stay where the text is, which lies in the arena.
class Builder final : public Events {
 public:
  Builder(std::string_view text, NodeMemory& memory)
      : text_(text), nodes_(&memory, kStack), memory_(memory) {}

  bool on_null() override { return counted() && nodes_.Null(); }
  bool on_bool(bool value) override { return counted() && nodes_.Bool(value); }
  bool on_string(std::string_view value) override {
    counted();
    value = kept(value);
    return nodes_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()), false);
  }
  bool on_number(std::string_view text) override {
    counted();
    const char* const last = text.data() + text.size();
    std::int64_t whole = 0;
    if (auto [end, failure] = std::from_chars(text.data(), last, whole);
        end == last && failure == std::errc())
      return nodes_.Int64(whole);
    std::uint64_t large = 0;
    if (auto [end, failure] = std::from_chars(text.data(), last, large);
        end == last && failure == std::errc())
      return nodes_.Uint64(large);
    double real = 0;
    // What is too small is zero or nearly; what is too large is an error, as in Go.
    if (std::from_chars(text.data(), last, real).ec != std::errc()) {
      real = std::strtod(std::string(text).c_str(), nullptr);
      if (!std::isfinite(real)) {
        too_large_ = text;
        return false;
      }
    }
    return nodes_.Double(real == 0 ? 0 : real);  // "-0" would be read again as 0
  }
  bool on_begin_object() override { return open() && nodes_.StartObject(); }
  bool on_begin_array() override { return open() && nodes_.StartArray(); }
  bool on_end_object() override {
    const Frame frame = open_.back();
    open_.pop_back();
    if (frame.suspicious) repeated_ |= has_repeated(frame.first_key);
    keys_.resize(frame.first_key);
    return nodes_.EndObject(frame.count);
  }
  bool on_end_array() override {
    const auto count = open_.back().count;
    open_.pop_back();
    return nodes_.EndArray(count);
  }
  bool on_key(std::string_view key) override {
    key = kept(key);
    Frame& frame = open_.back();
    const std::uint64_t bit = std::uint64_t{1} << mark(key);
    frame.suspicious |= (frame.marks & bit) != 0;
    frame.marks |= bit;
    keys_.push_back(key);
    return nodes_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()), false);
  }
  Error stop_error() override {
    return Error(Code::parse,
                 fmt::format("JSON: {}: a number that is too large",
                             position(text_, static_cast<std::size_t>(too_large_.data() - text_.data()))));
  }

  /// Some object has a member twice.
  bool repeated() const { return repeated_; }
  Value take() {
    const auto nothing = [](NodeBuilder&) { return true; };
    nodes_.Populate(nothing);
    return std::move(value_of(nodes_));
  }

 private:
  static constexpr std::size_t kStack = 16 << 10;

  struct Frame {
    std::size_t first_key;
    std::uint64_t marks = 0;  // of the names so far
    rapidjson::SizeType count = 0;
    bool suspicious = false;  // two names have one mark
  };

  bool counted() {
    if (!open_.empty()) ++open_.back().count;
    return true;
  }
  bool open() {
    counted();
    open_.push_back({keys_.size()});
    return true;
  }
  static unsigned mark(std::string_view key) {
    if (key.empty()) return 0;
    const auto at = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(key[i])); };
    const unsigned mixed = at(0) * 31 + at(key.size() / 2) * 7 + at(key.size() - 1) * 17 +
                           static_cast<unsigned>(key.size()) * 13;
    return (mixed ^ mixed >> 6) & 63;
  }
  bool has_repeated(std::size_t first) {
    const auto keys = std::span(keys_).subspan(first);
    if (keys.size() > 24) {
      std::ranges::sort(keys);
      return std::ranges::adjacent_find(keys) != keys.end();
    }
    for (std::size_t i = 1; i < keys.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (keys[i] == keys[j]) return true;
    return false;
  }
  std::string_view kept(std::string_view text) {
    const std::less_equal<const char*> not_after;
    if (not_after(text_.data(), text.data()) &&
        not_after(text.data() + text.size(), text_.data() + text_.size()))
      return text;
    char* const copy = static_cast<char*>(memory_.arena->allocate(text.size()));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }

  const std::string_view text_;
  NodeBuilder nodes_;
  NodeMemory& memory_;
  std::vector<Frame> open_;
  std::vector<std::string_view> keys_;  // of the objects that are open
  std::string_view too_large_;
  bool repeated_ = false;
};

// Of members with one name keeps the last one, at the place of the first.
void drop_repeated(Value& value) {
  for (Value& element : value.elements()) drop_repeated(element);
  const auto members = value.members();
  std::vector<std::size_t> order(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return members[i].key(); });
  std::vector<bool> dropped(members.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && members[order[last + 1]].key() == members[order[first]].key())
      dropped[order[++last]] = true;
    if (last != first) members[order[first]].value = std::move(members[order[last]].value);
    first = last + 1;
  }
  value.erase_if(
      [&](const Member& member) { return dropped[static_cast<std::size_t>(&member - members.data())]; });
  for (Member& member : value.members()) drop_repeated(member.value);
}

/// `own`: texts are copied too, else they stay where the value has them.
bool copy(const Value& value, NodeBuilder& to, bool own) {
  const auto size = static_cast<rapidjson::SizeType>(value.size());
  if (value.is_object()) {
    to.StartObject();
    for (const Member& member : value.members()) {
      to.Key(member.key().data(), static_cast<rapidjson::SizeType>(member.key().size()), own);
      copy(member.value, to, own);
    }
    return to.EndObject(size);
  }
  if (value.is_array()) {
    to.StartArray();
    for (const Value& element : value.elements()) copy(element, to, own);
    return to.EndArray(size);
  }
  if (value.is_string())
    return to.String(value.text().data(), static_cast<rapidjson::SizeType>(value.text().size()), own);
  if (value.is_bool()) return to.Bool(value.is_true());
  if (const auto whole = value.to_int()) return to.Int64(*whole);
  if (const auto large = value.to_uint()) return to.Uint64(*large);
  if (const auto real = value.to_double()) return to.Double(*real);
  return to.Null();
}

}  // namespace

Result<> Document::read(std::string_view text) {
  set_null();
  arena_.clear();
  if (text.size() > std::numeric_limits<rapidjson::SizeType>::max())
    return Error(Code::too_large, "JSON: a document of more than 4 GiB");
  // Its text and about as much again for what it says.
  NodeMemory memory{&arena_};
  char* const own = static_cast<char*>(arena_.allocate(text.size()));
  if (!text.empty()) std::memcpy(own, text.data(), text.size());
  Builder builder({own, text.size()}, memory);
  KOORD_CHECK(json::read({own, text.size()}, builder));
  static_cast<Value&>(*this) = builder.take();
  if (builder.repeated()) drop_repeated(*this);
  return {};
}

Result<Document> parse(std::string_view text) {
  Document document;
  KOORD_CHECK(document.read(text));
  return document;
}

namespace {

Value copied(const Value& value, Arena& arena, bool own) {
  if (value.is_string()) return make_text(value.text(), arena);
  NodeMemory memory{&arena};
  if (!value.is_array() && !value.is_object()) {
    Node scalar(node_of(value), memory);
    return std::move(value_of(scalar));
  }
  NodeBuilder nodes(&memory);
  const auto generate = [&](NodeBuilder& to) { return copy(value, to, own); };
  nodes.Populate(generate);
  return std::move(value_of(nodes));
}

}  // namespace

Value clone(const Value& value, Arena& arena) { return copied(value, arena, true); }

Document draft(const Value& value) {
  Document document;
  document = copied(value, document.arena(), false);
  return document;
}

Document clone(const Value& value) {
  Document document;
  document = clone(value, document.arena());
  return document;
}

}  // namespace koord::json
