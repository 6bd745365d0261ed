// Between gRPC's types and koord's plain ones.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "koord/rpc/call.hpp"

namespace koord::rpc {

std::string text_of(const grpc::ByteBuffer& bytes);
/// One slice that owns the text: nothing is copied.
grpc::ByteBuffer bytes_of(std::string text);

/// Whether an entry of gRPC's metadata is the caller's own: what gRPC sets itself it sets again.
bool is_own(const grpc::string_ref& name);
Metadata metadata_of(const std::multimap<grpc::string_ref, grpc::string_ref>& all);
/// `add(name, value)` for each entry that may be set: names that gRPC would abort at are left out.
template <class Add>
void add_metadata(const Metadata& metadata, Add add);

Status status_of(const grpc::Status& status);
grpc::Status status_of(const Status& status);

std::optional<nanoseconds> time_left(std::chrono::system_clock::time_point deadline);

/// gRPC ends the program at a name or a value that HTTP/2 does not have.
bool may_be_sent(const std::string& name, const std::string& value);

template <class Add>
void add_metadata(const Metadata& metadata, Add add) {
  for (const auto& [name, value] : metadata)
    if (may_be_sent(name, value)) add(name, value);
}

}  // namespace koord::rpc
