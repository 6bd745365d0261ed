// gRPC's types and koord's.
#include "wire.hpp"

#include <grpc/slice.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace koord::rpc {
namespace {

std::string_view view(const grpc::string_ref& text) { return {text.data(), text.size()}; }

/// Callers set these; all others that begin so are gRPC's.
bool is_trace(std::string_view name) { return name == "grpc-trace-bin" || name == "grpc-tags-bin"; }

}  // namespace

std::string text_of(const grpc::ByteBuffer& bytes) {
  std::string text;
  std::vector<grpc::Slice> slices;
  if (!bytes.Valid() || !bytes.Dump(&slices).ok()) return text;
  text.reserve(bytes.Length());
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

grpc::ByteBuffer bytes_of(std::string text) {
  if (text.size() < 1024) {  // a copy costs less than an owner
    const grpc::Slice slice(text);
    return {&slice, 1};
  }
  auto* const owner = new std::string(std::move(text));
  const grpc::Slice slice(
      owner->data(), owner->size(), [](void* kept) { delete static_cast<std::string*>(kept); }, owner);
  return {&slice, 1};
}

bool is_own(const grpc::string_ref& name) {
  static constexpr std::array<std::string_view, 4> kTransport{"user-agent", "content-type", "te", "host"};
  const std::string_view text = view(name);
  return !text.starts_with(':') && (!text.starts_with("grpc-") || is_trace(text)) &&
         std::find(kTransport.begin(), kTransport.end(), text) == kTransport.end();
}

Metadata metadata_of(const std::multimap<grpc::string_ref, grpc::string_ref>& all) {
  Metadata own;
  for (const auto& [name, value] : all)
    if (is_own(name)) own.emplace_back(view(name), view(value));
  return own;
}

bool may_be_sent(const std::string& name, const std::string& value) {
  if (name.empty() || name.front() == ':' || (name.starts_with("grpc-") && !is_trace(name))) return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.')) return false;
  return name.ends_with("-bin") ||
         std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Status status_of(const grpc::Status& status) {
  return {.code = static_cast<StatusCode>(status.error_code()),
          .message = status.error_message(),
          .details = status.error_details()};
}

grpc::Status status_of(const Status& status) {
  return {static_cast<grpc::StatusCode>(status.code), status.message, status.details};
}

std::optional<nanoseconds> time_left(std::chrono::system_clock::time_point deadline) {
  const auto now = std::chrono::system_clock::now();
  if (deadline >= now + std::chrono::hours(24 * 365)) return {};
  return std::max(nanoseconds(0), std::chrono::duration_cast<nanoseconds>(deadline - now));
}

}  // namespace koord::rpc
