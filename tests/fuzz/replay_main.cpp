// Replays a fuzzer's corpus in the ordinary build: each file, and of small files each prefix too, in a buffer
// of its exact size, so that a sanitized build sees a read past the end.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kEveryPrefixUpTo = 512;

void feed(const std::string& text, std::size_t size) {
  const auto exact = std::make_unique<std::uint8_t[]>(size);
  for (std::size_t i = 0; i < size; ++i) exact[i] = static_cast<std::uint8_t>(text[i]);
  LLVMFuzzerTestOneInput(exact.get(), size);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: replay CORPUS_FOLDER\n", stderr);
    return 2;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::fprintf(stderr, "%s\n", entry.path().c_str());  // the last one printed is the one that crashed
    if (text.size() <= kEveryPrefixUpTo) {
      for (std::size_t size = 0; size < text.size(); ++size) feed(text, size);
    }
    feed(text, text.size());
    ++files;
  }
  std::fprintf(stderr, "%d files replayed\n", files);
  return files > 0 ? 0 : 1;
}
