// Requests to the sandbox's API: "METHOD target\ncontent-type\nbody", several separated by a NUL byte.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "koord/base/manual_clock.hpp"
#include "sandbox/api/api.hpp"
#include "sandbox/builtin/builtin_kinds.hpp"
#include "sandbox/crd/registrar.hpp"

using namespace koord;
using namespace koord::sandbox;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  ManualClock clock;
  Store store(100, 100);
  Registry registry(store);
  add_builtin_kinds(registry);
  Verbs verbs(store, registry, clock, 1);
  add_initial_objects(verbs);
  const Registrar registrar(registry, clock);
  Api api(verbs, {});
  for (int requests = 0; !rest.empty() && requests < 8; ++requests) {
    std::string_view one = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    auto line = [&] {
      std::string_view text = one.substr(0, one.find('\n'));
      one.remove_prefix(std::min(text.size() + 1, one.size()));
      return text;
    };
    std::string_view head = line(), type = line();
    net::Request request;
    request.method = head.substr(0, head.find(' '));
    head.remove_prefix(std::min(request.method.size() + 1, head.size()));
    request.target = head;
    request.path = head.substr(0, head.find('?'));
    head.remove_prefix(std::min(request.path.size() + 1, head.size()));
    while (!head.empty()) {
      std::string_view pair = head.substr(0, head.find('&'));
      head.remove_prefix(std::min(pair.size() + 1, head.size()));
      std::size_t equals = std::min(pair.find('='), pair.size());
      request.query.emplace_back(pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size())));
    }
    request.headers.add("Content-Type", type);
    request.headers.add("Accept", requests % 2
                                      ? "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
                                      : "application/json");
    request.body = one;
    Reply reply = api.handle(request);
    if (!reply.watch) continue;
    std::vector<Bytes> frames;
    while (reply.watch->read(frames) == Watch::State::ready) {
    }
  }
  return 0;
}
