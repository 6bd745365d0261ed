# For arm64, built on another machine: clang as it is, libraries unpacked beside, and an emulator of programs that runs the tests.
# Nothing of it is installed, and this machine's apt and dpkg stay as they are.

ARM64_PACKAGES=(
  libc6-dev libstdc++-12-dev linux-libc-dev
  libboost1.81-dev rapidjson-dev libfmt-dev libyaml-cpp-dev libc-ares-dev libbpf-dev libre2-dev
  libssl-dev zlib1g-dev libzstd-dev libelf-dev libprotobuf-dev libgrpc++-dev catch2
)
arm64_folder() { echo "${KOORD_ARM64:-$KOORD_CACHE/arm64}"; }

# unpack_arm64 FOLDER: by an apt whose state, cache and machine are its own; its archives and their keys are this machine's.
unpack_arm64() {
  local apt=$1.apt package
  mkdir -p "$apt"/state/lists/partial "$apt"/cache/archives/partial "$1/var/lib/dpkg" || return 1
  : >"$apt/status"
  cat >"$apt/conf" <<TEXT
#clear APT::Architectures;
#clear APT::Update;
#clear DPkg::Post-Invoke;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
TEXT
  APT_CONFIG=$apt/conf apt-get update -q || return 1
  # Nothing is installed there, so that all that they depend on comes, too.
  APT_CONFIG=$apt/conf apt-get install -q -y --download-only --no-install-recommends "${ARM64_PACKAGES[@]}" || return 1
  for package in "$apt"/cache/archives/*.deb; do
    dpkg -x "$package" "$1" || return 1
    # For dpkg-query, which says of what it was built.
    { dpkg-deb -f "$package" && printf 'Status: install ok installed\n\n'; } >>"$1/var/lib/dpkg/status" || return 1
  done
}

# What meson is told of the other machine. The program names no folder of this one.
write_arm64_cross_file() {
  cat >"$1/cross.ini" <<TEXT
[constants]
root = '$1/sysroot'
target = ['--target=aarch64-linux-gnu', '--sysroot=' + root]
emulator = ['$1/qemu-aarch64-static', '-L', root]
[binaries]
c = ['clang-16'] + target
cpp = ['ccache', 'clang++-16'] + target
cpp_ld = 'lld'
ar = 'llvm-ar-16'
strip = 'llvm-strip-16'
pkgconfig = 'pkg-config'
exe_wrapper = emulator
[built-in options]
cpp_args = ['-ffile-prefix-map=' + root + '=']
[properties]
sys_root = root
pkg_config_libdir = [root / 'usr/lib/aarch64-linux-gnu/pkgconfig', root / 'usr/share/pkgconfig']
boost_includedir = root / 'usr/include'
boost_librarydir = root / 'usr/lib/aarch64-linux-gnu'
target_args = target + ['-fuse-ld=lld']
emulator = emulator
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
TEXT
}

verb_arm64_sysroot() {
  local folder status=0
  folder=$(arm64_folder)
  if [[ -d $folder/sysroot && -x $folder/qemu-aarch64-static ]]; then say "arm64-sysroot: it is there, $folder"; return; fi
  command -v apt-get >/dev/null || { say "arm64-sysroot: needs apt-get, or KOORD_ARM64"; return 1; }
  with_unpacked arm64-sysroot qemu-user-static put usr/bin/qemu-aarch64-static "$folder/qemu-aarch64-static" || return 1
  say "arm64-sysroot: downloading ${#ARM64_PACKAGES[@]} packages, and what they need"
  rm -rf "$folder"/new "$folder"/new.apt
  unpack_arm64 "$folder/new" >&2 || status=1
  rm -rf "$folder/new.apt"
  ((status == 0)) || { rm -rf "$folder/new"; say "arm64-sysroot: failed"; return 1; }
  rm -rf "$folder/sysroot" && mv "$folder/new" "$folder/sysroot"
  say "arm64-sysroot: $folder"
}

configure_arm64() {
  local folder
  folder=$(arm64_folder)
  if [[ -f build-arm64/build.ninja ]]; then return; fi
  write_arm64_cross_file "$folder" && env -u CC -u CXX meson setup build-arm64 --cross-file "$folder/cross.ini" >&2
}

# build_arm64 TARGET...: in build-arm64.
build_arm64() { verb_arm64_sysroot && configure_arm64 && ninja -C build-arm64 "$@" >&2; }
