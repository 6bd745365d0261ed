// RelayedCall: one call of anybody's, passed on as bytes on the queue's thread: messages both ways in their
// order, metadata, trailers, status, deadline, and the end of either side.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "incoming.hpp"
#include "queue.hpp"

namespace koord::rpc {

/// Counts of all of a server's; written by its queue's thread.
struct Counters {
  std::atomic<std::uint64_t> calls = 0, messages = 0, bytes = 0, open = 0;
};

class RelayedCall final : public Waiting {
 public:
  /// Takes the call over, with its hold, and lives until it has ended.
  static void begin(Incoming& incoming, grpc::GenericStub& backend, Queue& queue, Counters& counters);
  void flush() override;

 private:
  RelayedCall(Incoming& incoming, grpc::GenericStub& backend, Queue& queue, Counters& counters);
  ~RelayedCall() override;

  // From the caller to the back end.
  void ask();
  void asked(bool ok);
  void started(bool ok);
  void sent(bool ok);
  void send_request();
  void close_requests();
  void settled(bool ok);
  // From the back end to the caller.
  void headed(bool ok);
  void read_reply();
  void answered(bool ok);
  void send_reply();
  void replied(bool ok);
  void ended(bool ok);
  void finish();
  void finished(bool ok);
  void gone();
  void wait_for_more();
  void count(const grpc::ByteBuffer& message);

  Incoming& incoming_;
  Queue& queue_;
  Counters& counters_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> backend_;

  /// A message that is read while the one before it waits or is written: one each way is read ahead.
  grpc::ByteBuffer request_, next_request_, reply_, next_reply_;
  grpc::Status status_;
  grpc::Alarm alarm_;
  bool started_ = false;           // the back end knows of the call
  bool has_request_ = false;       // request_ waits to be sent
  bool has_next_request_ = false;  // next_request_ is there
  bool sending_ = false;           // something is on its way to the back end
  bool asked_all_ = false;         // the caller sends no more
  bool settled_ = false;           // and has not gone
  bool closed_ = false;            // which the back end was told
  bool has_headers_ = false;       // the back end's wait to be sent
  bool has_reply_ = false;         // reply_ waits to be sent
  bool has_next_reply_ = false;    // next_reply_ is there
  bool replying_ = false;          // something is on its way to the caller
  bool over_ = false;              // the back end has said how the call ended
  bool finished_ = false;          // which the caller was told
  bool waiting_ = false;           // for more to come with what there is

  Step<RelayedCall> on_asked_{*this, &RelayedCall::asked}, on_started_{*this, &RelayedCall::started},
      on_sent_{*this, &RelayedCall::sent}, on_headed_{*this, &RelayedCall::headed},
      on_answered_{*this, &RelayedCall::answered}, on_replied_{*this, &RelayedCall::replied},
      on_ended_{*this, &RelayedCall::ended}, on_settled_{*this, &RelayedCall::settled},
      on_finished_{*this, &RelayedCall::finished};
};

}  // namespace koord::rpc
