// Hook servers' files, kept: see hook_keep.hpp.
#include "hooks/hook_keep.hpp"

#include <fmt/format.h>

#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "store/own_file.hpp"

namespace koord::proxy {

namespace {

/// 64 files of 64 KiB, each byte of which may take six.
constexpr std::size_t kMostKept = std::size_t{32} << 20;
constexpr std::int64_t kVersion = 1;

}  // namespace

Result<HookTexts> read_kept(const std::string& file) {
  KOORD_TRY(text, read_own_file(file, kMostKept));
  const auto document = json::parse(text);
  if (!document) return Error(Code::parse, fmt::format("{}: {}", file, document.error().message()));
  const json::Value* const files = json::find(*document, "files");
  if (!files || !files->is_object() || json::int_at(*document, "version") != kVersion)
    return Error(Code::parse, fmt::format("{}: not hook servers' files in version {}", file, kVersion));
  HookTexts texts;
  for (const json::Member& member : files->members())
    if (member.value.is_string()) texts.emplace(member.key(), member.value.text());
  return texts;
}

Result<> write_kept(const std::string& file, const HookTexts& texts) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().member("version", kVersion).key("files").begin_object();
  for (const auto& [name, text] : texts) writer.member(name, text);
  writer.end_object().end_object();
  return write_own_file(file, out);
}

}  // namespace koord::proxy
