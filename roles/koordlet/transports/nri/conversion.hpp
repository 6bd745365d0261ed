// Between NRI's messages and what hooks are asked and answer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/hooks/desk.hpp"
#include "framework/hooks/runtime_request.hpp"
#include "koord/rpc/nri.hpp"

namespace koord::koordlet::nri {

/// What a container runtime calls itself, and where it says that, its containers' ids begin ("cri-o://ID").
std::string scheme_of(std::string_view runtime_name);

/// A container of none is about the sandbox. Zeros of CRI say nothing.
RuntimeRequest request_of(RuntimeMoment moment, std::string_view scheme, const rpc::nri::Pod& pod,
                          const rpc::nri::Container* container = nullptr,
                          const rpc::nri::Resources* resources = nullptr);

/// Type and numbers of a device of the host; nothing: there is none of that path.
using FindDevice = std::function<std::optional<rpc::nri::Device>(const std::string& host_path)>;
std::optional<rpc::nri::Device> find_device(const std::string& host_path);

/// `missing`: what could not be found on the host, each a text for the log.
rpc::nri::Adjustment adjustment_of(const Verdict& verdict, const FindDevice& find,
                                   std::vector<std::string>& missing);
/// Of a container that is there, with its id; nothing: it has all of it already. `has`: what the runtime has
/// of it, where it told.
std::optional<rpc::nri::Update> update_of(const Verdict& verdict, std::string_view container_id,
                                          const rpc::nri::Resources* has);

}  // namespace koord::koordlet::nri
