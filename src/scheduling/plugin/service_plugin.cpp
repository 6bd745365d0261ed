// ServicePlugin: see service_plugin.hpp.
#include "koord/scheduling/plugin/service_plugin.hpp"

#include "koord/json/writer.hpp"

namespace koord::scheduling {

ServiceAnswer service_error(unsigned status, std::string_view message) {
  ServiceAnswer answer{status, {}};
  json::Writer(answer.json).begin_object().member("message", message).end_object();
  return answer;
}

}  // namespace koord::scheduling
