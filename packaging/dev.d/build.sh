# Debian packages and the build folders.

BUILD_PACKAGES=(
  # toolchain
  clang-16 lld-16 llvm-16 ccache meson ninja-build pkg-config bpftool python3
  # libraries, all with static archives or header-only
  libboost1.81-dev rapidjson-dev libfmt-dev libyaml-cpp-dev libc-ares-dev libbpf-dev libre2-dev
  libssl-dev zlib1g-dev libzstd-dev libelf-dev libprotobuf-dev protobuf-compiler libgrpc++-dev
  # the page's charts: one file, which the program holds
  libjs-chart.js
)
TEST_PACKAGES=(
  clang-format-16 clang-tidy-16 libclang-rt-16-dev catch2 openssl ca-certificates binutils
  busybox-static containernetworking-plugins qemu-system-x86 systemd
  protobuf-compiler python3-grpcio docker-registry
  iproute2 iptables         # ip, tc: networks of the tests' own
  chromium-headless-shell fonts-dejavu-core # looks at the page
)

# What is only wanted where there is none at all: Debian's Go, which fetches a newer one, and its containerd and runc,
# which other packages of the same programs would have to leave for.
test_packages() {
  printf '%s\n' "${TEST_PACKAGES[@]}"
  command -v go >/dev/null || echo golang-go
  command -v containerd >/dev/null || echo containerd
  command -v runc >/dev/null || echo runc
}

# install_missing PACKAGE...
install_missing() {
  local package missing=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then say "deps: all there"; return; fi
  say "deps: installing ${missing[*]}"
  ((EUID == 0)) || { say "deps: needs root: sudo apt-get install ${missing[*]}"; return 1; }
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# To build and to show, a machine gets no container runtime and no virtual machine: these are for tests.
build_deps() { install_missing "${BUILD_PACKAGES[@]}"; }
verb_deps() {
  local tests
  mapfile -t tests < <(test_packages)
  install_missing "${BUILD_PACKAGES[@]}" "${tests[@]}"
}

# configure FOLDER OPTION...: once; meson itself notices when a build file changes.
configure() {
  local folder=$1
  shift
  [[ -f $folder/build.ninja ]] || meson setup "$folder" "$@" >&2
}

build_release() { configure build && ninja -C build "$@" >&2; }
# Without optimisation: compilers need less than half as long, and tests little longer.
configure_asan() { configure build-asan -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=0; }
configure_tsan() { configure build-tsan -Db_sanitize=thread -Db_lundef=false -Doptimization=0; }

# architecture_of WORD...: what follows `--arch` among them; this machine's.
architecture_of() {
  local said
  said=$(printf '%s\n' "$@" | sed -nE '/^--arch$/{n;p};s/^--arch=//p' | tail -n1)
  echo "${said:-$(dpkg --print-architecture)}"
}

# Where the program for an architecture is built: build, but for another machine's.
build_folder() { if [[ $1 == "$(dpkg --print-architecture)" ]]; then echo build; else echo "build-$1"; fi; }

verb_build() {
  local architecture folder
  architecture=$(architecture_of "$@")
  folder=$(build_folder "$architecture")
  build_deps
  case $folder in
    build) build_release koord ;;
    build-arm64) build_arm64 koord ;;
    *) say "build: for $architecture it is built on such a machine"; return 2 ;;
  esac
  say "build: $folder/koord, $(stat -c %s "$folder/koord") bytes"
}

# After much was moved or added: what the scheduler calls lies side by side in the program (meson.build).
verb_link_order() {
  install_missing valgrind
  verb_build
  python3 packaging/dev.d/link_order.py
}

verb_static_check() {
  local program=build/koord root size
  [[ -x $program ]] || verb_build
  if readelf -lW "$program" | grep -q INTERP || readelf -dW "$program" | grep -q NEEDED; then
    say "static-check: $program wants a loader or a library:"
    readelf -lW "$program" | grep INTERP >&2 || true
    readelf -dW "$program" | grep NEEDED >&2 || true
    return 1
  fi
  ((EUID == 0)) || { say "static-check: chroot needs root"; return 1; }
  root=$(mktemp -d)
  strip -o "$root/koord" "$program"
  size=$(stat -c %s "$root/koord")
  local status=0
  chroot "$root" /koord --version || status=1
  chroot "$root" /koord --help >/dev/null || status=1
  rm -rf "$root"
  ((status == 0)) || { say "static-check: it does not run in an empty chroot"; return 1; }
  say "static-check: fully static, runs in an empty chroot, stripped $((size / 1024)) KiB"
}
