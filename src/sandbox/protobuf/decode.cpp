// Decoding by a table of messages, over protobuf's own reader of the wire.
#include "sandbox/protobuf/decode.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>

#include "koord/api/values/time.hpp"
#include "koord/base/base64.hpp"

namespace koord::sandbox {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxBody = std::size_t{64} * 1024 * 1024;  // below an int, which sizes are there

struct Field {
  std::string_view name;
  char form;  // - r m e
  char type;  // s i b y d q t u n f M
  std::string_view message;
};
using Message = std::unordered_map<std::uint64_t, Field>;

constexpr std::string_view kTable =
#include "sandbox/protobuf/messages.inc"
    ;

const std::unordered_map<std::string_view, Message>& messages() {
  static const auto kMessages = [] {
    std::unordered_map<std::string_view, Message> all;
    for (std::string_view rest = kTable; !rest.empty();) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      std::size_t bar = std::min(line.find('|'), line.size());
      Message& message = all[line.substr(0, bar)];
      line.remove_prefix(std::min(bar + 1, line.size()));
      while (!line.empty()) {
        std::string_view entry = line.substr(0, line.find('|'));
        line.remove_prefix(std::min(entry.size() + 1, line.size()));
        std::size_t first = entry.find(' '), second = entry.find(' ', first + 1);
        std::uint64_t number = 0;
        std::from_chars(entry.data(), entry.data() + first, number);
        std::string_view form = entry.substr(second + 1);
        message[number] = {entry.substr(first + 1, second - first - 1), form[0], form[1], form.substr(2)};
      }
    }
    return all;
  }();
  return kMessages;
}

bool listed(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Pointers in Go, where zero says something.
bool zero_counts(std::string_view name) {
  return listed(
      name, {"replicas", "gracePeriodSeconds", "terminationGracePeriodSeconds", "tolerationSeconds",
             "completions", "parallelism", "backoffLimit", "runAsUser", "runAsGroup", "fsGroup",
             "revisionHistoryLimit", "ttlSecondsAfterFinished", "value", "priority", "defaultMode", "mode"});
}
bool false_is_absent(std::string_view name) {
  return listed(name, {"hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "paused", "readOnly",
                       "unschedulable", "globalDefault", "publishNotReadyAddresses"});
}

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// The fields of nested messages, read from one flat buffer: what is truncated, overlong or too deep is
/// refused.
class Input {
 public:
  explicit Input(std::string_view body)
      : in_(reinterpret_cast<const std::uint8_t*>(body.data()), static_cast<int>(body.size())) {
    in_.SetRecursionLimit(kMaxDepth);
    in_.PushLimit(static_cast<int>(body.size()));
  }

  /// Calls `field(number, wire type)` for each field until the message ends; it must read or skip the field.
  template <class Fn>
  bool fields(const Fn& field) {
    while (const std::uint32_t tag = in_.ReadTag()) {
      tag_ = tag;
      if (WireFormatLite::GetTagFieldNumber(tag) == 0) return false;
      if (!field(static_cast<std::uint64_t>(WireFormatLite::GetTagFieldNumber(tag)),
                 WireFormatLite::GetTagWireType(tag)))
        return false;
    }
    return in_.ConsumedEntireMessage();
  }
  bool skip() { return WireFormatLite::SkipField(&in_, tag_); }
  bool number(std::uint64_t& value) { return in_.ReadVarint64(&value); }
  /// A view of the body.
  bool bytes(std::string_view& out) {
    int size = 0, left = 0;
    if (!length(size)) return false;
    const void* data = nullptr;
    in_.GetDirectBufferPointerInline(&data, &left);
    if (size > 0 && left < size) return false;
    out = size > 0 ? std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size)) : "";
    return in_.Skip(size);
  }
  /// `read` reads the message's fields.
  template <class Fn>
  bool message(const Fn& read) {
    int size = 0;
    if (!length(size)) return false;
    const auto [limit, budget] = in_.IncrementRecursionDepthAndPushLimit(size);
    return budget >= 0 && read() && in_.DecrementRecursionDepthAndPopLimit(limit);
  }

 private:
  // A length beyond the enclosing message would be cut to it.
  bool length(int& size) { return in_.ReadVarintSizeAsInt(&size) && size <= in_.BytesUntilLimit(); }
  CodedInputStream in_;
  std::uint32_t tag_ = 0;
};

/// Messages of plain fields: their values by number.
struct Plain {
  std::uint64_t numbers[4] = {};
  std::string_view texts[4];

  bool read(Input& in) {
    return in.fields([&](std::uint64_t number, WireFormatLite::WireType wire) {
      if (number < 4 && wire == WireFormatLite::WIRETYPE_VARINT) return in.number(numbers[number]);
      if (number < 4 && wire == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return in.bytes(texts[number]);
      return in.skip();
    });
  }
};

class Decoder {
 public:
  Decoder(Input& in, json::Arena& arena) : in_(in), arena_(arena) {}

  /// The fields of the message that the input is in.
  bool message(std::string_view name, json::Value& out) {
    const auto known = messages().find(name);
    if (known == messages().end()) return false;
    if (!out.is_object()) out.set_object();
    Maps maps;
    const bool read = in_.fields([&](std::uint64_t number, WireFormatLite::WireType wire) {
      const auto field = known->second.find(number);
      if (field == known->second.end()) return in_.skip();
      return wire == wire_type(field->second) && add(field->second, out, maps);
    });
    if (!read) return false;
    for (auto& [field, entries] : maps) {
      json::Value& map = object_at(out, field->name, arena_);
      for (auto& [key, value] : entries) map.append(key, std::move(value), arena_);
    }
    return true;
  }

 private:
  /// The entries of a message's maps by key: of equal keys the last counts.
  using Maps = std::map<const Field*, std::map<std::string_view, json::Value>>;

  static WireFormatLite::WireType wire_type(const Field& field) {
    const bool varint = (field.type == 'i' || field.type == 'b') && field.form != 'm';
    return varint ? WireFormatLite::WIRETYPE_VARINT : WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  }

  bool add(const Field& field, json::Value& out, Maps& maps) {
    if (field.form == 'e') return in_.message([&] { return message(field.message, out); });
    if (field.form == 'm') return in_.message([&] { return entry(field, maps[&field]); });
    json::Value value;
    if (!scalar(field, value)) return false;
    if (field.form == 'r') {
      array_at(out, field.name, arena_).push_back(std::move(value), arena_);
      return true;
    }
    bool absent = value.is_null() || (value.is_string() && value.text().size() == 0) ||
                  (value.is_int() && *value.to_int() == 0 && field.type == 'i' && !zero_counts(field.name)) ||
                  (value.is_bool() && !value.is_true() && false_is_absent(field.name));
    if (!absent) set(out, field.name, std::move(value), arena_);
    return true;
  }

  bool entry(const Field& field, std::map<std::string_view, json::Value>& entries) {
    std::string_view key;
    json::Value value = field.type == 's' ? json::make_const("") : json::Value();
    const bool read = in_.fields([&](std::uint64_t number, WireFormatLite::WireType wire) {
      if (number > 2) return in_.skip();
      if (wire != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return false;
      return number == 1 ? text(key) : scalar(field, value);
    });
    if (!read) return false;
    entries.insert_or_assign(key, std::move(value));
    return true;
  }

  bool text(std::string_view& out) {
    return in_.bytes(out) &&
           google::protobuf::internal::IsStructurallyValidUTF8(out.data(), static_cast<int>(out.size()));
  }

  bool scalar(const Field& field, json::Value& value) {
    std::uint64_t number = 0;
    std::string_view bytes;
    switch (field.type) {
      case 's':
        if (!text(bytes)) return false;
        value = make_text(bytes, arena_);
        return true;
      case 'i':
        if (!in_.number(number)) return false;
        value = json::Value(static_cast<std::int64_t>(number));
        return true;
      case 'b':
        if (!in_.number(number)) return false;
        value = json::Value(number != 0);
        return true;
      case 'y':
        if (!in_.bytes(bytes)) return false;
        value = make_text(encode_base64(bytes), arena_);
        return true;
      case 'd': return false;  // no kind that is written has one
      case 'M': return in_.message([&] { return message(field.message, value); });
      default: break;
    }
    Plain plain;
    return in_.message([&] { return plain.read(in_); }) && value_of(field.type, plain, value);
  }

  bool value_of(char type, const Plain& plain, json::Value& value) {
    const auto valid = [](std::string_view text) {
      return google::protobuf::internal::IsStructurallyValidUTF8(text.data(), static_cast<int>(text.size()));
    };
    auto seconds = static_cast<std::int64_t>(plain.numbers[1]);
    bool in_years = seconds != 0 && seconds > -62'135'596'800 && seconds < 253'402'300'800;
    switch (type) {
      case 'q': value = make_text(plain.texts[1], arena_); return valid(plain.texts[1]);
      case 'n':
        if (plain.numbers[1] == 1)
          value = make_text(plain.texts[3], arena_);
        else
          value = json::Value(static_cast<std::int64_t>(plain.numbers[2]));
        return valid(plain.texts[3]);
      case 't':
        if (in_years)
          value = make_text(api::Time(std::chrono::sys_seconds(std::chrono::seconds(seconds))).to_string(),
                            arena_);
        return true;
      case 'u':
        if (in_years) {
          std::chrono::sys_time<std::chrono::microseconds> at{
              std::chrono::seconds(seconds) +
              std::chrono::microseconds(plain.numbers[2] % 1'000'000'000 / 1000)};
          value = make_text(api::MicroTime(at).to_string(), arena_);
        }
        return true;
      case 'f': {
        json::Document inner;
        if (!plain.texts[1].empty() && !inner.read(plain.texts[1])) return false;
        value = clone(inner, arena_);
        return true;
      }
      default: return false;
    }
  }

  Input& in_;
  json::Arena& arena_;
};

std::string message_name(std::string_view api_version, std::string_view kind) {
  if (kind == "DeleteOptions") return "meta.v1.DeleteOptions";
  std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return fmt::format("core.{}.{}", api_version, kind);
  std::string_view group = api_version.substr(0, slash);
  return fmt::format("{}.{}.{}", group.substr(0, group.find('.')), api_version.substr(slash + 1), kind);
}

}  // namespace

Result<> decode_protobuf(std::string_view body, json::Document& doc) {
  const auto malformed = [] { return Error(Code::bad_request, "the protobuf body is malformed"); };
  if (!body.starts_with(std::string_view("k8s\0", 4)) || body.size() > kMaxBody) return malformed();
  body.remove_prefix(4);
  // runtime.Unknown: 1 TypeMeta {1 apiVersion, 2 kind}, 2 the object
  Plain unknown, type;
  Input envelope(body);
  if (!unknown.read(envelope)) return malformed();
  Input head(unknown.texts[1]);
  if (!type.read(head)) return malformed();
  const auto [version, kind] = std::pair(type.texts[1], type.texts[2]);
  std::string name = message_name(version, kind);
  if (!messages().contains(name))
    return Error(Code::bad_request,
                 fmt::format("no protobuf form of kind {} in version {} is known here", kind, version));
  doc.set_object();
  set_text(doc, "apiVersion", version, doc.arena());
  set_text(doc, "kind", kind, doc.arena());
  Input in(unknown.texts[2]);
  if (!Decoder(in, doc.arena()).message(name, doc)) return malformed();
  return {};
}

}  // namespace koord::sandbox
