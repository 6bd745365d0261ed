// What admission webhooks answer: "STATUS content-type\nbody". A verdict or why there is none; refusals and
// warnings that come of it can be written down.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "is_json.hpp"
#include "sandbox/webhooks/review.hpp"

using namespace koord;
using namespace koord::sandbox;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view head = text.substr(0, line);
  net::Response response;
  response.status = 0;
  std::size_t at = 0;
  for (; at < head.size() && at < 3 && head[at] >= '0' && head[at] <= '9'; ++at)
    response.status = response.status * 10 + static_cast<unsigned>(head[at] - '0');
  response.content_type = head.substr(std::min(at + 1, head.size()));
  response.body = text.substr(std::min(line + 1, text.size()));
  for (const char* version : {"v1", "v1beta1"})
    for (const bool mutating : {true, false}) {
      auto verdict = read_verdict(response, version, "the-uid", mutating);
      if (!verdict) {
        if (verdict.error().message().empty()) std::abort();
        continue;
      }
      if (!mutating && !verdict->patch.empty()) std::abort();
      if (verdict->patch.empty() != verdict->patch_type.empty() && mutating) std::abort();
      for (const std::string& warning : verdict->warnings)
        for (const char c : warning_header(warning))
          if (c == '\r' || c == '\n') std::abort();
      const Failure failure = refusal("w.example.com", std::move(verdict->status));
      if (failure.code < 400 || !is_json(failure.to_json())) std::abort();
    }
  return 0;
}
