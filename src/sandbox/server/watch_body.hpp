// WatchBody: a watch as the body of an HTTP answer.
#pragma once

#include <list>
#include <memory>

#include "koord/async/event.hpp"
#include "koord/net/message.hpp"
#include "sandbox/store/watch.hpp"

namespace koord::sandbox {

/// All open watches; told of the time once a second.
class WatchBody final : public net::BodySource {
 public:
  using Open = std::list<WatchBody*>;
  WatchBody(std::unique_ptr<Watch> watch, Open& open);
  ~WatchBody() override;

  Task<Result<std::vector<Bytes>>> next() override;
  void cancel() override;
  /// The client sees a cut body.
  void break_off();
  Watch& watch() { return *watch_; }

 private:
  std::unique_ptr<Watch> watch_;
  Open& open_;
  Open::iterator place_;
  Event news_;
  bool cancelled_ = false, broken_ = false;
};

}  // namespace koord::sandbox
