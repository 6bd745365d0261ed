// The pool: a queue under a mutex. Pool threads run the job and post the waiter's wake-up to its executor.
#include "koord/async/offload.hpp"

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "koord/async/suspension.hpp"

namespace koord {

namespace {
enum class Stage { queued, running, done };
struct Job {
  std::function<void()> function;
  asio::any_io_executor executor;
  Suspension* waiter = nullptr;
  Stage stage = Stage::queued;  // under the pool's mutex
};
}  // namespace

class WorkerPool::Impl {
 public:
  explicit Impl(unsigned threads) : limit_(threads == 0 ? 1 : threads) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      queue_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void add(std::shared_ptr<Job> job) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(job));
      if (idle_ < queue_.size() && threads_.size() < limit_) threads_.emplace_back([this] { work(); });
    }
    changed_.notify_one();
  }

  /// True if the job had not begun and never will.
  bool withdraw(const std::shared_ptr<Job>& job) {
    const std::lock_guard lock(mutex_);
    return job->stage == Stage::queued && std::erase(queue_, job) > 0;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      --idle_;
      if (stop_) return;
      std::shared_ptr<Job> job = std::move(queue_.front());
      queue_.pop_front();
      job->stage = Stage::running;
      lock.unlock();
      job->function();
      const asio::any_io_executor executor = job->executor;
      asio::post(executor, [job = std::move(job)] { job->waiter->resume(); });
      lock.lock();
    }
  }

  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool stop_ = false;
};

WorkerPool::WorkerPool(unsigned threads) : impl_(std::make_unique<Impl>(threads)) {}
WorkerPool::~WorkerPool() = default;

Task<Result<>> WorkerPool::run(std::function<void()> function) {
  Suspension suspension;
  const auto job = std::make_shared<Job>();
  job->function = std::move(function);
  job->executor = co_await asio::this_coro::executor;
  job->waiter = &suspension;
  impl_->add(job);
  // A job that runs uses the frames above ours: it cannot be left behind.
  const std::function<bool()> withdrawn = [this, &job] { return impl_->withdraw(job); };
  co_return co_await suspension.wait(withdrawn);
}

}  // namespace koord
