// ClaimServer: see claim_server.hpp.
#include "plugins/dynamic_resources/claim_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "koord/api/schema/codec.hpp"
#include "koord/scheduling/config/kube_gates.hpp"

namespace koord::scheduling::test {

using koord::test::json_response;
using koord::test::status_response;

FeatureGates gates_of(const std::string& settings) {
  static const std::vector<FeatureGate> kGates = kube_gates();
  FeatureGates gates{kGates};
  if (!settings.empty())
    if (const auto set = gates.set(settings); !set) throw std::runtime_error(set.error().message());
  return gates;
}

ClaimServer::ClaimServer() {
  transport.answer = [this](const net::Request& request) { return answer(request); };
}

void ClaimServer::put_claim(api::ResourceClaim claim) {
  claim.metadata.resource_version = std::to_string(++version_);
  const std::string name = claim.metadata.name;
  claims[name] = std::move(claim);
  tell();
}

void ClaimServer::remove_claim(const std::string& name) {
  claims.erase(name);
  tell();
}

bool ClaimServer::has_news() const {
  return claims.size() != told_.size() || std::ranges::any_of(claims, [&](const auto& each) {
           const auto told = told_.find(each.first);
           return told == told_.end() ||
                  told->second->metadata.resource_version != each.second.metadata.resource_version;
         });
}

void ClaimServer::tell() {
  for (auto told = told_.begin(); told != told_.end();) {
    if (claims.contains(told->first)) {
      ++told;
      continue;
    }
    engine().remove_object(told->second);
    told = told_.erase(told);
  }
  for (const auto& [name, claim] : claims) {
    auto& told = told_[name];
    if (told != nullptr && told->metadata.resource_version == claim.metadata.resource_version) continue;
    told = std::make_shared<const api::ResourceClaim>(claim);
    engine().put_object(told);
  }
}

std::string ClaimServer::prepare(const Decision& decision) {
  const PreBindWork::Context context{client,
                                     loop.clock,
                                     [] { return true; },
                                     decision.pod,
                                     decision.node(),
                                     [this](const kube::ObjectType& type, std::string_view,
                                            std::string_view name) { return find(type, name); }};
  for (const Decision::PreBind& each : decision.as<Decision::Bind>()->pre_binds) {
    const Status status = koord::test::run_task(loop, each.work->run(context));
    if (!status.ok()) return status.message;
  }
  return {};
}

Result<net::Response> ClaimServer::answer(const net::Request& request) {
  std::string name = request.target.substr(request.target.find("/resourceclaims/") + 16);
  name = name.substr(0, name.find('?'));
  const bool of_status = name.ends_with("/status");
  const std::string write = fmt::format("{} {}", request.method, name);
  if (of_status) name.resize(name.size() - 7);
  if (request.method != "GET")
    writes.push_back(request.method == "PATCH" ? fmt::format("{} {}", write, request.body) : write);
  if (refuse)
    if (auto refused = refuse(write)) return *std::move(refused);
  const auto known = claims.find(name);
  if (known == claims.end()) return status_response(404, "NotFound", "resourceclaims not found");
  api::ResourceClaim& claim = known->second;
  if (request.method == "GET") return json_response(200, api::encode(claim));
  if (request.method == "PATCH") {
    api::List<api::ResourceClaimConsumerReference> kept;
    for (const auto& user : claim.status.reserved_for)
      if (request.body.find(fmt::format(R"({{"$patch":"delete","uid":"{}"}})", user.uid)) ==
          std::string::npos)
        kept.push_back(user);
    claim.status.reserved_for = std::move(kept);
  } else {
    auto sent = *api::decode<api::ResourceClaim>(request.body);
    if (sent.metadata.resource_version != claim.metadata.resource_version)
      return status_response(409, "Conflict", "the object has been modified");
    if (of_status)
      claim.status = std::move(sent.status);
    else
      claim.metadata.finalizers = std::move(sent.metadata.finalizers);
  }
  claim.metadata.resource_version = std::to_string(++version_);
  std::string answered = api::encode(claim);
  if (tells_at_once) tell();
  return json_response(200, std::move(answered));
}

kube::Object ClaimServer::find(const kube::ObjectType& type, std::string_view name) const {
  if (&type != &kube::kObjectType<api::ResourceClaim>) return nullptr;
  const auto known = claims.find(std::string(name));
  return known != claims.end() ? std::make_shared<const api::ResourceClaim>(known->second) : nullptr;
}

}  // namespace koord::scheduling::test
