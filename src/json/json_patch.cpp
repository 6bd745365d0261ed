// JSON patch, RFC 6902, with the bounds that Kubernetes has and one of work.
#include <fmt/format.h>

#include <algorithm>

#include "koord/json/patch.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/reader.hpp"
#include "koord/json/writer.hpp"

namespace koord::json {
namespace {

using Tokens = std::vector<std::string>;

Error bad(std::string message) { return Error(Code::invalid, std::move(message)); }

class Patcher {
 public:
  Patcher(Value& root, Arena& arena) : root_(root), arena_(arena) {}

  Result<> apply(const Value& operation) {
    const std::string_view op = text_at(operation, "op");
    const Value* path_value = find(operation, "path");
    if (!path_value || !path_value->is_string()) return bad("path is missing");
    const std::string_view path = path_value->text();
    KOORD_TRY(tokens, pointer_tokens(path));
    const Value* value = find(operation, "value");
    if (op == "test") return test(path, tokens, value);
    if (op == "add" || op == "replace") {
      if (!value) return bad("value is missing");
      if (op == "add") return add(path, tokens, clone(*value, arena_), *value);
      Value* target = walk(tokens, tokens.size());
      if (!target) return missing(path);
      KOORD_CHECK(shallow(*value, tokens.size()));
      *target = clone(*value, arena_);
      return checked();
    }
    if (op == "remove") {
      Value taken;
      return take(path, tokens, taken);
    }
    if (op != "move" && op != "copy") return bad(fmt::format("unknown op \"{}\"", op));

    const Value* from_value = find(operation, "from");
    if (!from_value || !from_value->is_string()) return bad("from is missing");
    const std::string_view from = from_value->text();
    KOORD_TRY(source_tokens, pointer_tokens(from));
    return op == "copy" ? copy(from, source_tokens, path, tokens) : move(from, source_tokens, path, tokens);
  }

 private:
  /// The value that the first `count` tokens lead to; nullptr if the way does not exist or is too far.
  Value* walk(const Tokens& tokens, std::size_t count) {
    Value* value = &root_;
    for (std::size_t i = 0; i < count && value && work_ <= kMaxPatchWork; ++i) {
      if (value->is_array()) {
        const auto index = pointer_index(tokens[i], value->size());
        value = index && *index < value->size() ? &(*value)[*index] : nullptr;
      } else {
        work_ += value->size();
        value = find(*value, tokens[i]);
      }
    }
    return value;
  }
  Result<> checked() const {
    if (work_ <= kMaxPatchWork) return {};
    return Error(Code::too_large, fmt::format("the patch takes more than {} steps", kMaxPatchWork));
  }
  Result<> missing(std::string_view path) const {
    KOORD_CHECK(checked());
    return bad(fmt::format("{}: does not exist", path));
  }
  /// What is built must be safe to walk through.
  Result<> shallow(const Value& value, std::size_t levels) const {
    if (levels < kMaxDepth && static_cast<int>(levels) + depth(value, kMaxDepth) <= kMaxDepth) return {};
    return bad(fmt::format("the result is nested deeper than {} levels", kMaxDepth));
  }

  Result<> test(std::string_view path, const Tokens& tokens, const Value* value) {
    const Value* found = walk(tokens, tokens.size());
    KOORD_CHECK(checked());
    const Value null;
    if (!found && value && !value->is_null()) return bad(fmt::format("test: {}: does not exist", path));
    if ((found ? *found : null) == (value ? *value : null)) return {};
    return bad(fmt::format("test: {}: has another value", path));
  }

  /// `like` is nested as deeply as `value`.
  Result<> add(std::string_view path, const Tokens& tokens, Value&& value, const Value& like) {
    KOORD_CHECK(shallow(like, tokens.size()));
    return put(path, tokens, std::move(value));
  }
  Result<> put(std::string_view path, const Tokens& tokens, Value&& value) {
    if (tokens.empty()) {
      root_ = std::move(value);
      return {};
    }
    Value* parent = walk(tokens, tokens.size() - 1);
    if (parent && parent->is_object()) {
      work_ += parent->size();
      set(*parent, tokens.back(), std::move(value), arena_);
      return checked();
    }
    if (!parent || !parent->is_array()) {
      KOORD_CHECK(checked());
      return bad(fmt::format("{}: the parent does not exist", path));
    }
    const auto index = pointer_index(tokens.back(), parent->size());
    if (!index || *index > parent->size()) return bad(fmt::format("{}: no such index", path));
    work_ += parent->size() - *index;
    parent->insert(*index, std::move(value), arena_);
    return checked();
  }

  Result<> take(std::string_view path, const Tokens& tokens, Value& taken) {
    if (tokens.empty()) {
      taken = std::exchange(root_, Value());
      return {};
    }
    Value* parent = walk(tokens, tokens.size() - 1);
    if (parent && parent->is_object()) {
      work_ += 2 * parent->size();
      if (Value* value = find(*parent, tokens.back())) {
        taken = std::move(*value);
        remove(*parent, tokens.back());
        return checked();
      }
    } else if (parent && parent->is_array() && tokens.back() != "-") {
      const auto index = pointer_index(tokens.back(), parent->size());
      if (index && *index < parent->size()) {
        work_ += parent->size() - *index;
        taken = std::move((*parent)[*index]);
        parent->erase(*index);
        return checked();
      }
    }
    return missing(path);
  }

  Result<> copy(std::string_view from, const Tokens& source_tokens, std::string_view path,
                const Tokens& tokens) {
    const Value* source = walk(source_tokens, source_tokens.size());
    if (!source) return missing(from);
    text_.clear();
    append(text_, *source);
    copied_ += text_.size();
    if (copied_ > kMaxCopiedBytes)
      return bad(fmt::format("copy operations exceed {} bytes in all", kMaxCopiedBytes));
    return add(path, tokens, clone(*source, arena_), *source);
  }

  Result<> move(std::string_view from, const Tokens& source_tokens, std::string_view path,
                const Tokens& tokens) {
    if (path.size() > from.size() && path.starts_with(from) && path[from.size()] == '/')
      return bad(fmt::format("{}: cannot move into itself", from));
    Value taken;
    KOORD_CHECK(take(from, source_tokens, taken));
    if (tokens.size() > source_tokens.size()) {  // else it is nested no deeper than it was
      work_ += count(taken);
      KOORD_CHECK(checked());
      KOORD_CHECK(shallow(taken, tokens.size()));
    }
    return put(path, tokens, std::move(taken));
  }

  static std::size_t count(const Value& value) {
    std::size_t values = 1;
    for (const Value& element : value.elements()) values += count(element);
    for (const Member& member : value.members()) values += count(member.value);
    return values;
  }

  Value& root_;
  Arena& arena_;
  std::size_t work_ = 0;
  std::size_t copied_ = 0;
  std::string text_;
};

}  // namespace

Result<> json_patch(Value& target, const Value& patch, Arena& arena) {
  if (!patch.is_array()) return Error(Code::bad_request, "a JSON patch is a list of operations");
  if (patch.size() > kMaxPatchOperations)
    return Error(Code::too_large, fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                                              kMaxPatchOperations, patch.size()));
  Patcher patcher(target, arena);
  for (std::size_t i = 0; i < patch.size(); ++i)
    if (auto done = patcher.apply(patch[i]); !done)
      return std::move(done).error().context(fmt::format("operation {}", i));
  return {};
}

}  // namespace koord::json
