# Packages and images of what was built, and the clean Debian that tests install them in.

verb_package() {
  local folder other=()
  folder=$(build_folder "$(architecture_of "$@")")
  verb_build "$@" || return
  if [[ $folder == build-arm64 ]]; then
    other=(--libraries="$(arm64_folder)/sysroot" --emulator="$(arm64_folder)/qemu-aarch64-static")
  fi
  install_missing ca-certificates tzdata  # the image holds them
  python3 packaging/package/package.py --koord="$folder/koord" "${other[@]}" "$@"
}

# The last commit, built in another folder: the program and the packages are the same bytes. Without --cached nothing comes of
# the compiler's cache.
verb_reproducible() {
  local away status=0 disable=1
  if [[ ${1:-} == --cached ]]; then disable=; fi
  [[ -z $(git status --porcelain) ]] || { say "reproducible: what is not committed would not be built twice"; return 1; }
  verb_build
  away=$(mktemp -d)
  git clone -q . "$away/another/folder"
  (
    cd "$away/another/folder"
    export CCACHE_BASEDIR=$PWD ${disable:+CCACHE_DISABLE=1}
    packaging/dev package --out "$away/packages"
  ) && packaging/dev package --out "$away/here" || status=1
  cmp build/koord "$away/another/folder/build/koord" && diff -r "$away/here" "$away/packages" || status=1
  rm -rf "$away"
  ((status == 0)) || { say "reproducible: built elsewhere it is another"; return 1; }
  say "reproducible: $(sha256sum build/koord)"
}

debian_root_path() { echo "${KOORD_DEBIAN_ROOT:-$KOORD_CACHE/debian/bookworm.tar}"; }

# The smallest Debian 12 with systemd, from the archives that this machine's apt asks.
verb_debian_root() {
  local root mirror
  root=$(debian_root_path)
  if [[ -f $root ]]; then say "debian-root: it is there, $root"; return; fi
  command -v apt-get >/dev/null || { say "debian-root: needs apt-get, or KOORD_DEBIAN_ROOT"; return 1; }
  install_missing mmdebstrap || return 1
  mkdir -p "$(dirname "$root")"
  # Empty on a machine that is no Debian 12: mmdebstrap then has a default of its own.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n1) || mirror=
  # Manuals and translations are left out: the virtual machine has it in memory.
  if ! mmdebstrap --quiet --variant=minbase --include=systemd --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/man/*/koord.*' \
    --dpkgopt='path-include=/usr/share/man/*/kubectl*koord.*' --dpkgopt='path-include=/usr/share/doc/koord/*' bookworm "$root.new.tar" ${mirror:+"$mirror"} >&2; then
    rm -f "$root.new.tar"
    say "debian-root: failed"
    return 1
  fi
  mv "$root.new.tar" "$root"
  say "debian-root: $root"
}
