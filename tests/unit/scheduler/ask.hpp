// Asking a running role of a rig what it serves, as who may ask asks; what the engine's thread answers is
// waited for.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "support/role_rig.hpp"
#include "support/run_task.hpp"

namespace koord::scheduler::test {

inline net::Response ask(koord::test::RoleRig& rig, std::string method, std::string path,
                         std::string body = {}) {
  net::Request request;
  request.method = std::move(method);
  request.path = request.target = std::move(path);
  request.body = std::move(body);
  const runtime::Routes::Route* route = rig.routes.find(request.path);
  REQUIRE(route);
  CHECK(route->debug);
  const auto work = boost::asio::make_work_guard(rig.loop.context);  // the engine's answer
  return koord::test::run_task(rig.loop, route->handler(std::move(request)), true);
}

}  // namespace koord::scheduler::test
