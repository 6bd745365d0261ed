// ReadOnlyClients: API clients of a process that must not write, whatever its parts try.
#pragma once

#include <memory>

#include "koord/kube/client.hpp"
#include "koord/kube/transport.hpp"
#include "koord/runtime/role.hpp"

namespace koord::descheduler::rehearsal {

/// One client for all settings. A request that is no GET ends with Code::forbidden and is not sent.
class ReadOnlyClients final : public runtime::ClientFactory {
 public:
  ReadOnlyClients(std::unique_ptr<kube::Transport> transport, Clock& clock);
  ~ReadOnlyClients() override;

  kube::Client& client() { return *client_; }
  Result<kube::Client*> client(const runtime::ClientSettings& settings) override;
  Result<kube::ClientConfig> config(const runtime::ClientSettings& settings) override;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<kube::Client> client_;
};

}  // namespace koord::descheduler::rehearsal
