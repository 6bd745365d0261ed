// From the wire's fields to what hooks are told, and back: maps, names and resources.
#pragma once

#include <string>
#include <string_view>

#include "cri.pb.h"
#include "koord/rpc/cri.hpp"

namespace koord::rpc::cri {

using Entries = google::protobuf::RepeatedPtrField<wire::cri::Entry>;

/// Sorted; of a name that is there twice the last. Pairs that are not UTF-8 are left out.
hooks::Map to_map(const Entries& entries);
/// Each pair where its name stands last, or behind all.
void set_entries(Entries& entries, const hooks::Map& change);
void remove_entries(Entries& entries, const std::vector<std::string>& names);

hooks::PodMeta to_meta(const wire::cri::PodSandboxMetadata& message);
hooks::ContainerMeta to_meta(const wire::cri::ContainerMetadata& message);
hooks::Resources to_resources(const wire::cri::LinuxContainerResources& message);
void set_resources(wire::cri::LinuxContainerResources& message, const ResourceChange& change);

/// The text, or nothing where it is not UTF-8.
std::string to_text(const std::string& bytes);

/// Code::parse if they are no such message.
Result<> parse_message(google::protobuf::MessageLite& message, std::string_view bytes, std::string_view what);

}  // namespace koord::rpc::cri
