// ThreadedFiles: writes that may take the kernel long are made on threads of their own.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "framework/executor/kernel_files.hpp"

namespace koord::koordlet {

/// A thread for each write in flight (the executor bounds how many there are), not the worker pool's: those
/// are waited for at the end of the process, and one that the kernel keeps would keep it, too. What has not
/// ended when this object goes is left behind: `done` is not called any more.
class ThreadedFiles final : public KernelFiles {
 public:
  /// The verdicts come through `loop`, which outlives this object.
  explicit ThreadedFiles(boost::asio::any_io_executor loop);
  ~ThreadedFiles() override;
  ThreadedFiles(const ThreadedFiles&) = delete;
  ThreadedFiles& operator=(const ThreadedFiles&) = delete;
  void write_later(const std::string& path, std::string_view text, Done done) override;

 private:
  struct Way;
  std::shared_ptr<Way> way_;
};

}  // namespace koord::koordlet
