#include "object_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/json/writer.hpp"

namespace koord::api {
namespace {

/// For one value: about 3,000 keys in the opposite order.
constexpr size_t kMostMoves = size_t{1} << 22;

std::string_view wanted(TypeKind kind) {
  switch (kind) {
    case TypeKind::boolean: return "true or false";
    case TypeKind::int32:
    case TypeKind::int64:
    case TypeKind::float64: return "a number";
    case TypeKind::quantity: return "a quantity";
    case TypeKind::time:
    case TypeKind::micro_time: return "a time";
    case TypeKind::duration: return "a duration such as \"5m\"";
    case TypeKind::int_or_string: return "a number or a string";
    case TypeKind::structure:
    case TypeKind::map: return "an object";
    case TypeKind::list: return "a list";
    default: return "a string";
  }
}

std::string_view name_of(Token token) {
  return token == Token::boolean ? "true or false" : token == Token::number ? "a number" : "a string";
}

}  // namespace

void ObjectDecoder::start(const Type& type, void* target, bool object, std::string prefix) {
  root_type_ = &type;
  root_ = target;
  object_ = object && type.kind == TypeKind::structure;
  prefix_ = std::move(prefix);
  live_ = 0;
  seen_.clear();
  moves_ = 0;
  depth_ = 0;
  skip_until_ = -1;
  raw_ = nullptr;
  done_ = false;
  error_.reset();
}

bool ObjectDecoder::slot(Slot& out, bool null) {
  if (live_ == 0) {
    out = {root_type_, root_, nullptr};
  } else {
    Frame& frame = frames_[live_ - 1];
    if (frame.schema) {
      if (!frame.field) return false;
      out = {frame.field->type, static_cast<char*>(frame.value) + frame.field->offset, frame.field};
    } else if (frame.type->kind == TypeKind::list) {
      ++frame.index;
      out = {frame.type->element, frame.type->append(frame.value), frame.field};
    } else {
      bool added = false;
      out = {frame.type->element, frame.type->insert(frame.value, frame.key, added), frame.field};
      if (!added && mode_ == Mode::strict) return fail("duplicate key", Code::invalid), false;
    }
  }
  while (!null && out.type->kind == TypeKind::optional) {
    out.value = out.type->append(out.value);
    out.type = out.type->element;
  }
  return true;
}

bool ObjectDecoder::on_null() {
  if (raw_) {
    raw_value("null", false);
    return true;
  }
  if (skip_until_ < 0) {
    Slot at;
    slot(at, true);  // null is absent, but an element of a list is counted
  }
  if (depth_ == 0) done_ = true;
  return !(stop_on_error_ && error_);
}

bool ObjectDecoder::on_bool(bool value) { return scalar(Token::boolean, value ? "true" : "false"); }
bool ObjectDecoder::on_number(std::string_view text) { return scalar(Token::number, text); }
bool ObjectDecoder::on_string(std::string_view value) { return scalar(Token::string, value); }

bool ObjectDecoder::scalar(Token token, std::string_view text) {
  if (raw_) {
    raw_value(text, token == Token::string);
    return true;
  }
  if (skip_until_ >= 0) return true;
  bool go_on = true;
  Slot at;
  if (slot(at, false)) {
    const auto stored = read_scalar(*at.type, at.value, token, text);
    if (!stored)
      go_on = fail(stored.error().message());
    else if (!*stored)
      go_on = fail(fmt::format("expected {}, got {}", wanted(at.type->kind), name_of(token)));
    else if (mode_ == Mode::strict)
      go_on = check(at, text);
  } else {
    go_on = error_ ? !stop_on_error_ : undescribed(token, text);
  }
  if (depth_ == 0) done_ = true;
  return go_on;
}

// A member that the schema does not have. Of a whole object that is its type, too.
bool ObjectDecoder::undescribed(Token token, std::string_view text) {
  if (live_ != 1 || !object_) return true;
  const Frame& root = frames_[0];
  const Kind* kind = root.schema->kind();
  if (!kind) return true;
  const bool is_kind = root.key == "kind";
  if (!is_kind && (root.key != "apiVersion" || mode_ != Mode::strict)) return true;
  if (token != Token::string) return fail("expected a string");
  const std::string expected = is_kind ? std::string(kind->kind) : kind->api_version();
  if (text == expected) return true;
  return fail(fmt::format("expected \"{}\", got \"{}\"", expected, text));
}

bool ObjectDecoder::begin(bool object) {
  ++depth_;
  if (raw_) {
    raw_value(object ? "{" : "[", false);
    return true;
  }
  if (skip_until_ >= 0) return true;
  Slot at;
  if (!slot(at, false)) {
    if (error_) return !stop_on_error_;
    skip_until_ = depth_ - 1;
    return true;
  }
  const TypeKind kind = at.type->kind;
  if (kind == TypeKind::raw) {
    raw_ = &static_cast<RawJson*>(at.value)->text;
    raw_->assign(object ? "{" : "[");
    raw_until_ = depth_ - 1;
    return true;
  }
  if (object ? kind != TypeKind::structure && kind != TypeKind::map : kind != TypeKind::list)
    return fail(fmt::format("expected {}, got {}", wanted(kind), object ? "an object" : "a list"));
  if (live_ == frames_.size()) frames_.emplace_back();
  Frame& frame = frames_[live_++];
  frame.type = at.type;
  frame.value = at.value;
  frame.schema = kind == TypeKind::structure ? &at.type->schema() : nullptr;
  frame.field = frame.schema ? nullptr : at.field;
  frame.index = 0;
  if (frame.schema && mode_ == Mode::strict) {
    frame.index = seen_.size();
    seen_.resize(seen_.size() + frame.schema->fields().size());
  }
  return true;
}

bool ObjectDecoder::on_begin_object() { return begin(true); }
bool ObjectDecoder::on_begin_array() { return begin(false); }

bool ObjectDecoder::on_key(std::string_view key) {
  if (raw_) {
    if (raw_->back() != '{') raw_->push_back(',');
    json::append_string(*raw_, key);
    raw_->push_back(':');
    return true;
  }
  if (skip_until_ >= 0) {
    skip_value();
    return true;
  }
  Frame& frame = frames_[live_ - 1];
  if (!frame.schema) return on_map_key(frame, key);
  frame.field = frame.schema->find(key);
  if (mode_ == Mode::tolerant) {
    if (frame.field) return true;
    // Nobody wants it, unless it tells what the whole object is.
    if (live_ == 1 && object_ && key == "kind")
      frame.key.assign(key);
    else
      skip_value();
    return true;
  }
  if (!frame.field) {
    frame.key.assign(key);
    const bool type_field =
        live_ == 1 && object_ && frame.schema->kind() && (key == "kind" || key == "apiVersion");
    return type_field || fail("unknown field", Code::invalid);
  }
  const size_t bit = frame.index + static_cast<size_t>(frame.field - frame.schema->fields().data());
  if (seen_[bit]) return fail("duplicate field", Code::invalid);
  seen_[bit] = true;
  return true;
}

// Maps are kept sorted, and everybody who prints JSON sorts them: of a text that does not each key may cost
// as much as there are others, which somebody might make use of.
bool ObjectDecoder::on_map_key(Frame& frame, std::string_view key) {
  frame.key.assign(key);
  if (frame.index == 0 || key > frame.greatest)
    frame.greatest.assign(key);
  else if ((moves_ += frame.index) > kMostMoves)
    return fail("too many keys that are not in order", Code::too_large);
  ++frame.index;
  return true;
}

bool ObjectDecoder::end() {
  --depth_;
  bool go_on = true;
  if (raw_) {
    if (depth_ == raw_until_) {
      raw_->shrink_to_fit();
      raw_ = nullptr;
    }
  } else if (skip_until_ >= 0) {
    if (depth_ == skip_until_) skip_until_ = -1;
  } else {
    const Frame& frame = frames_[live_ - 1];
    if (!frame.schema)
      frame.type->shrink(frame.value);
    else if (mode_ == Mode::strict)
      go_on = close_structure(frame);
    --live_;
  }
  if (depth_ == 0) done_ = true;
  return go_on;
}

bool ObjectDecoder::on_end_object() {
  if (raw_) raw_->push_back('}');
  return end();
}
bool ObjectDecoder::on_end_array() {
  if (raw_) raw_->push_back(']');
  return end();
}

// Required fields and defaults.
bool ObjectDecoder::close_structure(const Frame& frame) {
  const auto fields = frame.schema->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (seen_[frame.index + i]) continue;
    frames_[live_ - 1].field = &fields[i];  // for the path
    if (!fields[i].default_text.empty()) {
      ObjectDecoder decoder(mode_, true);
      decoder.start(*fields[i].type, static_cast<char*>(frame.value) + fields[i].offset, false, path());
      if (auto done = json::read(fields[i].default_text, decoder); !done) return fail(done.error().message());
    } else if (fields[i].has(Field::kRequired)) {
      return fail("required field is missing", Code::invalid);
    }
  }
  seen_.resize(frame.index);
  return true;
}

bool ObjectDecoder::check(const Slot& at, std::string_view text) {
  if (!at.field) return true;
  const Field& field = *at.field;
  if (!field.enum_values.empty() && std::ranges::find(field.enum_values, text) == field.enum_values.end())
    return fail(fmt::format("\"{}\" is none of {}", text, fmt::join(field.enum_values, ", ")), Code::invalid);
  if (!field.minimum && !field.maximum) return true;
  double value = 0;
  switch (at.type->kind) {
    case TypeKind::int32: value = *static_cast<const int32_t*>(at.value); break;
    case TypeKind::int64: value = static_cast<double>(*static_cast<const int64_t*>(at.value)); break;
    case TypeKind::float64: value = *static_cast<const double*>(at.value); break;
    default: return true;
  }
  if (field.minimum && value < static_cast<double>(*field.minimum))
    return fail(fmt::format("{} is less than {}", text, *field.minimum), Code::invalid);
  if (field.maximum && value > static_cast<double>(*field.maximum))
    return fail(fmt::format("{} is more than {}", text, *field.maximum), Code::invalid);
  return true;
}

void ObjectDecoder::raw_value(std::string_view text, bool quoted) {
  const char last = raw_->back();
  if (last != '{' && last != '[' && last != ':') raw_->push_back(',');
  if (quoted)
    json::append_string(*raw_, text);
  else
    raw_->append(text);
}

bool ObjectDecoder::fail(std::string_view what, Code code) {
  if (!error_) {
    error_ = Error(mode_ == Mode::strict ? Code::invalid : code, fmt::format("{}: {}", path(), what));
    skip_until_ = 0;
  }
  return !stop_on_error_;
}

Error ObjectDecoder::stop_error() {
  return error_ ? *error_ : Error(Code::internal, "the decoder stopped without a reason");
}

std::string ObjectDecoder::path() const {
  std::string path = prefix_;
  for (size_t i = 0; i < live_; ++i) {
    const Frame& frame = frames_[i];
    if (frame.schema)
      fmt::format_to(std::back_inserter(path), ".{}",
                     frame.field ? frame.field->name : std::string_view(frame.key));
    else if (frame.type->kind == TypeKind::list)
      fmt::format_to(std::back_inserter(path), "[{}]", frame.index - 1);
    else
      fmt::format_to(std::back_inserter(path), "[{}]", frame.key);
  }
  return path.empty() ? "." : path;
}

}  // namespace koord::api
