// The manager's webhooks: the server, what it is called by, and who keeps both right; on every replica.
#pragma once

#include <memory>
#include <span>

#include "framework/webhook/admission.hpp"
#include "framework/webhook/keeper.hpp"
#include "framework/webhook/server.hpp"
#include "koord/async/task_group.hpp"
#include "koord/runtime/role.hpp"

namespace koord::manager {

class Webhooks {
 public:
  /// Null with the gate WebhookFramework off, or port 0. Adds the checks webhook-ready
  /// and webhook-informers to /readyz. An error
  /// names what is wrong in the environment or with a flag.
  static Result<std::unique_ptr<Webhooks>> make(runtime::RoleContext& context, kube::Client& client,
                                                std::span<const HandlerRow> rows);

  /// Before start(); see WebhookServer::note_changes().
  void note_changes(ChangeNotes& notes, const runtime::Audit& audit) { server_->note_changes(notes, audit); }
  void start(TaskGroup& tasks);
  /// Whether API servers ask: see WebhookKeeper::asked().
  bool asked() const { return keeper_.asked(); }
  Task<> stop() { return server_->stop(); }

 private:
  Webhooks(runtime::RoleContext& context, kube::Client& client, WebhookSettings settings,
           std::unique_ptr<WebhookServer> server, std::span<const HandlerRow> rows);
  Result<> serve(const Certificates& certificates);

  const Logger log_;
  const WebhookSettings settings_;
  std::unique_ptr<WebhookServer> server_;
  WebhookKeeper keeper_;
  bool listening_ = false;
};

}  // namespace koord::manager
