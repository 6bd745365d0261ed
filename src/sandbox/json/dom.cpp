// Parsing with limits, writing, and member access for the sandbox's documents.
#include "sandbox/json/dom.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <unordered_map>
#include <vector>

namespace koord::sandbox {
namespace {

// Brackets outside of strings; a document that is malformed otherwise is the parser's affair.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"')
      in_string = true;
    else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

void drop_repeated_members(Json& object) {
  auto same_name = [](const Json::Member& a, const Json::Member& b) { return view(a.name) == view(b.name); };
  if (object.MemberCount() <= 16) {
    for (auto it = object.MemberBegin(); it != object.MemberEnd();) {
      bool again = false;
      for (auto later = it + 1; later != object.MemberEnd() && !again; ++later)
        again = same_name(*it, *later);
      it = again ? object.EraseMember(it) : it + 1;
    }
    return;
  }
  std::unordered_map<std::string_view, rapidjson::SizeType> last;
  rapidjson::SizeType index = 0;
  for (auto& member : object.GetObject()) last[view(member.name)] = index++;
  if (last.size() == object.MemberCount()) return;
  rapidjson::SizeType kept = 0;
  for (index = 0; index < object.MemberCount(); ++index) {
    auto it = object.MemberBegin() + index;
    if (last[view(it->name)] != index) continue;
    if (kept != index) {
      auto to = object.MemberBegin() + kept;
      to->name = it->name;
      to->value = it->value;
    }
    ++kept;
  }
  object.EraseMember(object.MemberBegin() + kept, object.MemberEnd());
}

void drop_repeated(Json& value) {
  if (value.IsObject()) {
    drop_repeated_members(value);
    for (auto& member : value.GetObject())
      if (member.value.IsObject() || member.value.IsArray()) drop_repeated(member.value);
  } else if (value.IsArray()) {
    for (auto& item : value.GetArray())
      if (item.IsObject() || item.IsArray()) drop_repeated(item);
  }
}

struct StringOut {
  using Ch = char;
  std::string& out;
  void Put(char c) { out.push_back(c); }
  void Flush() {}
};

}  // namespace

bool parse_json(std::string_view text, JsonDoc& doc, std::string& error) {
  if (too_deep(text)) {
    error = "exceeded max depth";
    return false;
  }
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseFullPrecisionFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  doc.ParseStream<kFlags, rapidjson::UTF8<>>(stream);
  if (doc.HasParseError()) {
    error = std::string(rapidjson::GetParseError_En(doc.GetParseError())) + " (at byte " +
            std::to_string(doc.GetErrorOffset()) + ")";
    doc.SetNull();
    return false;
  }
  // A NUL byte reads as the end of the stream.
  if (stream.Tell() < text.size()) {
    error = "invalid character after top-level value (at byte " + std::to_string(stream.Tell()) + ")";
    doc.SetNull();
    return false;
  }
  drop_repeated(doc);
  return true;
}

void write_json(const Json& value, std::string& out) {
  out.clear();
  StringOut sink{out};
  rapidjson::Writer<StringOut> writer(sink);
  value.Accept(writer);
}

std::string write_json(const Json& value) {
  std::string out;
  out.reserve(1024);
  write_json(value, out);
  return out;
}

std::string quote_json(std::string_view text) {
  std::string out;
  StringOut sink{out};
  rapidjson::Writer<StringOut> writer(sink);
  writer.String(text.data() ? text.data() : "", static_cast<rapidjson::SizeType>(text.size()));
  return out;
}

Json* find(Json& object, std::string_view key) {
  if (!object.IsObject()) return nullptr;
  for (auto& member : object.GetObject())
    if (view(member.name) == key) return &member.value;
  return nullptr;
}

const Json* find(const Json& object, std::string_view key) { return find(const_cast<Json&>(object), key); }

Json make_text(std::string_view text, JsonAlloc& alloc) {
  return Json(text.data() ? text.data() : "", static_cast<rapidjson::SizeType>(text.size()), alloc);
}

Json make_const(std::string_view literal) { return Json(ref(literal)); }

Json clone(const Json& value, JsonAlloc& alloc) { return Json(value, alloc); }

Json& set(Json& object, std::string_view key, Json&& value, JsonAlloc& alloc) {
  if (!object.IsObject()) object.SetObject();
  if (Json* old = find(object, key)) {
    *old = value;
    return *old;
  }
  object.AddMember(make_text(key, alloc), value, alloc);
  return (object.MemberEnd() - 1)->value;
}

Json& set_text(Json& object, std::string_view key, std::string_view text, JsonAlloc& alloc) {
  return set(object, key, make_text(text, alloc), alloc);
}

Json& set_int(Json& object, std::string_view key, std::int64_t value, JsonAlloc& alloc) {
  return set(object, key, Json(value), alloc);
}

Json& set_default(Json& object, std::string_view key, Json&& value, JsonAlloc& alloc) {
  if (Json* old = find(object, key); old && !old->IsNull()) return *old;
  return set(object, key, std::move(value), alloc);
}

Json& default_text(Json& object, std::string_view key, std::string_view literal, JsonAlloc& alloc) {
  Json* old = find(object, key);
  if (old && !old->IsNull() && !(old->IsString() && old->GetStringLength() == 0)) return *old;
  return set(object, key, make_const(literal), alloc);
}

Json& default_int(Json& object, std::string_view key, std::int64_t value, JsonAlloc& alloc) {
  return set_default(object, key, Json(value), alloc);
}

Json& object_at(Json& object, std::string_view key, JsonAlloc& alloc) {
  if (Json* old = find(object, key)) {
    if (!old->IsObject()) old->SetObject();
    return *old;
  }
  return set(object, key, Json(rapidjson::kObjectType), alloc);
}

Json& array_at(Json& object, std::string_view key, JsonAlloc& alloc) {
  if (Json* old = find(object, key)) {
    if (!old->IsArray()) old->SetArray();
    return *old;
  }
  return set(object, key, Json(rapidjson::kArrayType), alloc);
}

bool remove(Json& object, std::string_view key) {
  if (!object.IsObject()) return false;
  for (auto it = object.MemberBegin(); it != object.MemberEnd(); ++it) {
    if (view(it->name) != key) continue;
    object.EraseMember(it);
    return true;
  }
  return false;
}

bool is_empty(const Json* value) {
  if (!value || value->IsNull()) return true;
  if (value->IsObject()) return value->MemberCount() == 0;
  if (value->IsArray()) return value->Empty();
  return value->IsString() && value->GetStringLength() == 0;
}

bool same(const Json* a, const Json* b) {
  if (!a || !b) return is_empty(a) && is_empty(b);
  if (a->IsObject() && b->IsObject()) {
    if (a->MemberCount() != b->MemberCount()) return false;
    for (const auto& member : a->GetObject()) {
      const Json* other = find(*b, view(member.name));
      if (!other || !same(&member.value, other)) return false;
    }
    return true;
  }
  if (a->IsArray() && b->IsArray()) {
    if (a->Size() != b->Size()) return false;
    for (rapidjson::SizeType i = 0; i < a->Size(); ++i)
      if (!same(&(*a)[i], &(*b)[i])) return false;
    return true;
  }
  return *a == *b;
}

}  // namespace koord::sandbox
