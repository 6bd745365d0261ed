// Decoding by a table of messages.
#include "sandbox/protobuf/decode.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "koord/api/values/time.hpp"
#include "koord/base/base64.hpp"

namespace koord::sandbox {
namespace {

constexpr int kMaxDepth = 64;

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

struct Reader {
  const char* at;
  const char* end;

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && at < end; shift += 7) {
      auto byte = static_cast<unsigned char>(*at++);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (!(byte & 0x80)) return value;
    }
    return std::nullopt;
  }
  std::optional<std::string_view> bytes() {
    auto size = varint();
    if (!size || *size > static_cast<std::uint64_t>(end - at)) return std::nullopt;
    std::string_view out(at, *size);
    at += *size;
    return out;
  }
};

/// One field as it is on the wire.
struct Raw {
  std::uint64_t number = 0, value = 0;
  std::string_view data;
};

bool read_field(Reader& in, Raw& raw) {
  auto tag = in.varint();
  if (!tag) return false;
  raw = {*tag >> 3, 0, {}};
  std::uint64_t wire = *tag & 7;
  if (wire == 0) {
    auto value = in.varint();
    raw.value = value.value_or(0);
    return value.has_value();
  }
  if (wire == 2) {
    auto data = in.bytes();
    raw.data = data.value_or(std::string_view());
    return data.has_value();
  }
  std::size_t size = wire == 1 ? 8 : wire == 5 ? 4 : 0;
  if (size == 0 || in.end - in.at < static_cast<std::ptrdiff_t>(size)) return false;
  std::memcpy(&raw.value, in.at, size);
  in.at += size;
  return true;
}

class Decoder {
 public:
  explicit Decoder(JsonAlloc& alloc) : alloc_(alloc) {}

  bool message(std::string_view name, std::string_view data, Json& out, int depth) {
    if (depth > kMaxDepth) return false;
    auto known = messages().find(name);
    if (known == messages().end()) return false;
    if (!out.IsObject()) out.SetObject();
    Reader in{data.data(), data.data() + data.size()};
    Raw raw;
    while (in.at < in.end) {
      if (!read_field(in, raw)) return false;
      auto field = known->second.find(raw.number);
      if (field != known->second.end() && !add(field->second, raw, out, depth)) return false;
    }
    return true;
  }

 private:
  bool add(const Field& field, const Raw& raw, Json& out, int depth) {
    if (field.form == 'e') return message(field.message, raw.data, out, depth + 1);
    if (field.form == 'm') return entry(field, raw.data, out, depth);
    Json value;
    if (!scalar(field, raw, value, depth)) return false;
    if (field.form == 'r') {
      array_at(out, field.name, alloc_).PushBack(value, alloc_);
      return true;
    }
    bool absent =
        value.IsNull() || (value.IsString() && value.GetStringLength() == 0) ||
        (value.IsInt64() && value.GetInt64() == 0 && field.type == 'i' && !zero_counts(field.name)) ||
        (value.IsFalse() && false_is_absent(field.name));
    if (!absent) set(out, field.name, std::move(value), alloc_);
    return true;
  }

  bool entry(const Field& field, std::string_view data, Json& out, int depth) {
    Reader in{data.data(), data.data() + data.size()};
    Raw raw;
    std::string_view key;
    Json value = field.type == 's' ? make_const("") : Json();
    while (in.at < in.end) {
      if (!read_field(in, raw)) return false;
      if (raw.number == 1) key = raw.data;
      if (raw.number == 2 && !scalar(field, raw, value, depth)) return false;
    }
    set(object_at(out, field.name, alloc_), key, std::move(value), alloc_);
    return true;
  }

  // Messages of plain fields: their values by number.
  static bool plain(std::string_view data, std::uint64_t (&numbers)[4], std::string_view (&texts)[4]) {
    Reader in{data.data(), data.data() + data.size()};
    Raw raw;
    while (in.at < in.end) {
      if (!read_field(in, raw)) return false;
      if (raw.number >= 4) continue;
      numbers[raw.number] = raw.value;
      texts[raw.number] = raw.data;
    }
    return true;
  }

  bool scalar(const Field& field, const Raw& raw, Json& value, int depth) {
    std::uint64_t numbers[4] = {};
    std::string_view texts[4];
    switch (field.type) {
      case 's': value = make_text(raw.data, alloc_); return true;
      case 'i': value.SetInt64(static_cast<std::int64_t>(raw.value)); return true;
      case 'b': value.SetBool(raw.value != 0); return true;
      case 'y': value = make_text(encode_base64(raw.data), alloc_); return true;
      case 'd': return false;  // no kind that is written has one
      case 'M': return message(field.message, raw.data, value, depth + 1);
      default: break;
    }
    if (!plain(raw.data, numbers, texts)) return false;
    auto seconds = static_cast<std::int64_t>(numbers[1]);
    bool in_years = seconds > -62'135'596'800 && seconds < 253'402'300'800;
    switch (field.type) {
      case 'q': value = make_text(texts[1], alloc_); return true;
      case 'n':
        if (numbers[1] == 1)
          value = make_text(texts[3], alloc_);
        else
          value.SetInt64(static_cast<std::int64_t>(numbers[2]));
        return true;
      case 't':
        if (!raw.data.empty() && in_years && seconds != 0)
          value = make_text(api::Time(std::chrono::sys_seconds(std::chrono::seconds(seconds))).to_string(),
                            alloc_);
        return true;
      case 'u':
        if (!raw.data.empty() && in_years && seconds != 0) {
          std::chrono::sys_time<std::chrono::microseconds> at{
              std::chrono::seconds(seconds) + std::chrono::microseconds(numbers[2] % 1'000'000'000 / 1000)};
          value = make_text(api::MicroTime(at).to_string(), alloc_);
        }
        return true;
      case 'f': {
        JsonDoc inner;
        std::string error;
        if (!texts[1].empty() && !parse_json(texts[1], inner, error)) return false;
        value = clone(inner, alloc_);
        return true;
      }
      default: return false;
    }
  }

  JsonAlloc& alloc_;
};

std::string message_name(std::string_view api_version, std::string_view kind) {
  if (kind == "DeleteOptions") return "meta.v1.DeleteOptions";
  std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return "core." + std::string(api_version) + "." + std::string(kind);
  std::string_view group = api_version.substr(0, slash);
  return std::string(group.substr(0, group.find('.'))) + "." + std::string(api_version.substr(slash + 1)) +
         "." + std::string(kind);
}

}  // namespace

bool decode_protobuf(std::string_view body, JsonDoc& doc, std::string& error) {
  error = "the protobuf body is malformed";
  if (!body.starts_with(std::string_view("k8s\0", 4))) return false;
  body.remove_prefix(4);
  // runtime.Unknown: 1 TypeMeta {1 apiVersion, 2 kind}, 2 the object
  Reader in{body.data(), body.data() + body.size()};
  Raw raw;
  std::string_view type, object;
  while (in.at < in.end) {
    if (!read_field(in, raw)) return false;
    if (raw.number == 1) type = raw.data;
    if (raw.number == 2) object = raw.data;
  }
  std::string_view version, kind;
  in = {type.data(), type.data() + type.size()};
  while (in.at < in.end) {
    if (!read_field(in, raw)) return false;
    if (raw.number == 1) version = raw.data;
    if (raw.number == 2) kind = raw.data;
  }
  std::string name = message_name(version, kind);
  if (!messages().contains(name)) {
    error = "no protobuf form of kind " + std::string(kind) + " in version " + std::string(version) +
            " is known here";
    return false;
  }
  doc.SetObject();
  JsonAlloc& alloc = doc.GetAllocator();
  set_text(doc, "apiVersion", version, alloc);
  set_text(doc, "kind", kind, alloc);
  Decoder decoder(alloc);
  return decoder.message(name, object, doc, 0);
}

}  // namespace koord::sandbox
