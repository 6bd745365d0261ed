// What a proxy says to Koordinator's hook service, as a runtime's request; and a verdict, as the proxy is
// answered: the request's own fields with what shall be other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/hooks/desk.hpp"
#include "framework/hooks/runtime_request.hpp"
#include "koord/rpc/hooks.hpp"

namespace koord::koordlet::hook_server {

/// Nothing: nobody has a say then.
std::optional<RuntimeMoment> moment_of(rpc::hooks::Stage stage);

/// `runtime`: the scheme of its containers' ids. What the request has of maps is moved.
RuntimeRequest request_of(RuntimeMoment moment, std::string runtime, rpc::hooks::PodRequest from);
RuntimeRequest request_of(RuntimeMoment moment, std::string runtime, rpc::hooks::ContainerRequest from);

/// The answer to what `request` was made of; `had` is what it had of resources. A value that the protocol
/// cannot say (no limit of memory) is left as it was.
rpc::hooks::PodResponse pod_response(RuntimeRequest request, std::optional<rpc::hooks::Resources> had,
                                     const Verdict& verdict);
rpc::hooks::ContainerResponse container_response(RuntimeRequest request,
                                                 std::optional<rpc::hooks::Resources> had,
                                                 const Verdict& verdict);

/// Is told what no proxy can set, of a pod that is about to run: to be written now.
using WriteNow = std::function<void(const std::vector<LaterValue>&)>;

/// From bytes to bytes; `write` may be empty. Code::parse: they are no such message; Desk::answer's: it is
/// refused.
Result<std::string> answer(Desk& desk, rpc::hooks::Stage stage, const std::string& runtime,
                           std::string_view bytes, const WriteNow& write = {});

}  // namespace koord::koordlet::hook_server
