# Debian's docker for the long tests: its package, downloaded and unpacked, never installed. containerd and runc are the
# machine's.

docker_folder() { echo "${KOORD_DOCKER:-$KOORD_CACHE/docker}"; }

verb_docker() {
  local folder work status=0
  folder=$(docker_folder)
  if [[ -x $folder/usr/sbin/dockerd ]]; then say "docker: it is there, $folder"; return; fi
  command -v apt-get >/dev/null || { say "docker: needs apt-get, or KOORD_DOCKER"; return 1; }
  say "docker: downloading docker.io"
  work=$(mktemp -d)
  # apt's own user has to write here.
  chmod 755 "$work"
  (
    set -e
    cd "$work"
    apt-get download -q docker.io || { apt-get update -q && apt-get download -q docker.io; }
    dpkg -x ./*.deb root
    mkdir -p "$(dirname "$folder")"
    rm -rf "$folder"
    mv root "$folder"
  ) >&2 || status=1
  rm -rf "$work"
  ((status == 0)) || { say "docker: failed"; return 1; }
  say "docker: $folder"
}
