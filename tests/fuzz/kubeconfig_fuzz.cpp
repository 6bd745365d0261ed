// Kubeconfigs: what is taken can be used, what is refused names the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/kube/config.hpp"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace koord;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view context : {"", "other"}) {
    const auto config = kube::parse_kubeconfig(text, "/no/such/folder/config", context);
    if (!config) {
      check(config.error().message().starts_with("/no/such/folder/config"));
      continue;
    }
    check(config->server.starts_with("https://") || config->server.starts_with("http://"));
    check(!config->server.ends_with('/'));
    check(config->client_cert_pem.empty() == config->client_key_pem.empty());
    check(config->token.find_first_of("\r\n") == std::string::npos);
    check(!config->default_namespace.empty());
    // What is not verified is said.
    if (config->insecure_skip_tls_verify) check(config->ca_pem.empty() && !config->warnings.empty());
    if (config->server.starts_with("http://")) check(!config->warnings.empty());
  }
  return 0;
}
