// ServicePlugin: what a plugin tells people of its state, over HTTP.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace koord::scheduling {

struct ServiceRequest {
  std::string path;  // below the plugin's name: "/node/n1"
  std::vector<std::pair<std::string, std::string>> query;
};

struct ServiceAnswer {
  unsigned status = 200;
  std::string json;
};

/// Served at /apis/v1/plugins/NAME/..., for the plugin's instance in the first profile that has it.
class ServicePlugin {
 public:
  virtual ~ServicePlugin() = default;
  /// As they are listed: "/node/:nodeName".
  virtual std::vector<std::string_view> service_paths() const = 0;
  /// On the engine's thread; it takes little time. Absent: there is nothing at this path.
  virtual std::optional<ServiceAnswer> serve(const ServiceRequest& request) const = 0;
};

/// {"message":"..."}
ServiceAnswer service_error(unsigned status, std::string_view message);

}  // namespace koord::scheduling
