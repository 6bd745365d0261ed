// Guards against clang 16 keeping a thread-local's address across co_await: coroutines that hop between two
// threads, whose frames Asio recycles through a thread-local, corrupt memory then (see the root meson.build).
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "koord/async/task.hpp"

using namespace koord;

#if !defined(BOOST_ASIO_DISABLE_THREAD_KEYWORD_EXTENSION)
#error "clang 16 needs BOOST_ASIO_DISABLE_THREAD_KEYWORD_EXTENSION"
#endif

namespace {

Task<int> hop(asio::any_io_executor to, int value) {
  co_await asio::post(to, asio::use_awaitable);
  co_return value;
}

Task<> walk(asio::any_io_executor a, asio::any_io_executor b, std::vector<int>& sums, std::size_t index) {
  std::vector<int> local(static_cast<std::size_t>(64 + index), 1);
  int sum = 0;
  for (int i = 0; i < 2000; ++i) {
    sum += co_await hop(i % 2 == 0 ? a : b, i);
    local[static_cast<std::size_t>(i) % local.size()] += 1;
  }
  for (const int v : local) sum += v;
  sums[index] = sum - static_cast<int>(local.size());
}

}  // namespace

TEST_CASE("coroutines that hop over two threads keep their frames") {
  asio::io_context a{1}, b{1};
  auto keep_a = asio::make_work_guard(a);
  auto keep_b = asio::make_work_guard(b);
  std::vector<int> sums(16);
  std::atomic<int> left{16};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    asio::co_spawn(a, walk(a.get_executor(), b.get_executor(), sums, i), [&](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
      if (--left == 0) {
        keep_a.reset();
        keep_b.reset();
      }
    });
  }
  std::thread other([&] { b.run(); });
  a.run();
  other.join();
  for (const int sum : sums) CHECK(sum == 2000 * 1999 / 2 + 2000);
}
