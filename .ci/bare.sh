#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What README says to someone who has a bare Debian: makes one by debootstrap, clones the last commit into it and runs the commands of
# README's "Quick start" there, as root, then .ci/deb.sh and .ci/pip.sh. Package mirror, proxies and certificates are those of this machine.
# Usage: bare.sh SUITE [COMMAND ...]    bookworm, trixie, or noble, Ubuntu 24.04; other commands to run there, a word each. Exit status: that of
#                                       the commands; 0 and a line "skipped: ..." where no such system can be made here
#        MIRROR=... bare.sh SUITE       from another mirror than that of this machine's apt, or, for Ubuntu, than debootstrap's
#        AGAIN=1 bare.sh SUITE          make check as tests/run.sh says, where the host's code was tested before
#        bare.sh --mirror               prints the mirror that apt takes Debian from here
# The system without the commands' packages is kept in build/bare for the next run. All mounts and processes are in namespaces that end with
# this script, however it ends, so that none is left and nothing of this machine can be deleted through one.
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive
cache=$PWD/build/bare

skipped()
{
  echo "skipped: $*"
  exit 0
}

# Of all that apt reads here, only Debian's own archive is asked for: others have folders called bookworm too. Apt knows which is whose only
# from lists that it has
mirror()
{
  local found

  for update in '' update; do
    [ -z "$update" ] || apt-get update -qq >/dev/null 2>&1 || :
    found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1)
    if [ -n "$found" ]; then
      echo "${found%/}"
      return
    fi
  done
}

# What apt needs in there to reach the mirror; a proxy may have certificates of its own
network()
{
  mkdir -p "$1/etc/ssl" "$1/etc/apt/apt.conf.d" "$1/usr/local/share"
  cp -L /etc/resolv.conf /etc/hosts "$1/etc"
  cp -rL /etc/ssl/certs "$1/etc/ssl" 2>/dev/null || :
  cp -rL /usr/local/share/ca-certificates "$1/usr/local/share" 2>/dev/null || :
  cp -r /etc/apt/auth.conf* "$1/etc/apt" 2>/dev/null || :
  apt-config dump Acquire | grep -v IndexTargets >"$1/etc/apt/apt.conf.d/99machine"
}

# Of Ubuntu's archive, which debootstrap checks by it: the package's, or that of Debian 13, which apt has checked
ubuntu_key()
{
  local file=usr/share/keyrings/ubuntu-archive-keyring.gpg

  if [ -e "/$file" ]; then
    echo "/$file"
    return
  fi
  [ -e "$cache/key/$file" ] || sh .ci/trixie.sh "$cache/key" ubuntu-keyring >"$cache/key.log" 2>&1
  echo "$cache/key/$file"
}

# A file system with SUITE, git and make in it, which README takes for granted
base()
{
  local suite=$1 root=$2 script='' options=()

  if [ -f "$cache/$suite.tar" ]; then
    tar -C "$root" -xf "$cache/$suite.tar"
    return
  fi
  if [ "$suite" = noble ]; then
    options=(--components=main,universe --force-check-gpg --keyring="$(ubuntu_key)")
    [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=gutsy # for all of Ubuntu; this debootstrap is older than the suite
  fi
  debootstrap --variant=minbase --include=git,make "${options[@]}" "$suite" "$root" "$mirror" ${script:+"$script"} \
    >"$cache/$suite.log" 2>&1 || return
  tar -C "$root" -cf "$cache/$suite.tar.part" . && mv "$cache/$suite.tar.part" "$cache/$suite.tar"
}

# The commands' environment is that of a login, with this machine's proxies
within()
{
  local root=$1 proxies
  shift
  mapfile -t proxies < <(env | grep -iE '^(https?|ftp|all|no)_proxy=')
  chroot "$root" /usr/bin/env -i ${AGAIN:+AGAIN="$AGAIN"} HOME=/root USER=root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${proxies[@]}" \
    sh -c "cd /root/hjacobi && $*"
}

# In the namespaces
run()
{
  local suite=$1 root=$2 commands=("${@:3}")

  base "$suite" "$root" || skipped "debootstrap $suite $mirror: $(tail -n 1 "$cache/$suite.log") (all of it is in $cache/$suite.log)"
  network "$root"
  mount -t proc proc "$root/proc"
  mount --bind /sys "$root/sys"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no package starts a service
  chmod 755 "$root/usr/sbin/policy-rc.d"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" # nobody keeps this system
  git clone -q --no-hardlinks . "$root/root/hjacobi"
  echo "$suite: ready after $SECONDS s"
  if [ ${#commands[@]} -eq 0 ]; then
    mapfile -t commands < <(sed -n '/^## Quick start/,/^## [^Q]/s/^\(make [a-z]*\)  *#.*/\1/p' README.md)
    [ ${#commands[@]} -ge 2 ] || { echo "README's commands are not found"; exit 1; }
    commands+=(.ci/deb.sh .ci/pip.sh)
  fi
  for command in "${commands[@]}"; do
    TIMEFORMAT="$suite: $command: %R s, %U + %S s of CPU"
    time within "$root" "$command" || { echo "$suite: $command failed"; exit 1; }
    echo "$suite: $command: exit 0"
  done
}

if [ "$1" = --mirror ]; then
  mirror
  exit
fi
suite=$1
if [ "$suite" = --inside ]; then suite=$2; fi
mirror=${MIRROR:-}
if [ "$suite" != noble ]; then mirror=${MIRROR:-$(mirror)}; fi # debootstrap knows Ubuntu's
if [ "$1" = --inside ]; then
  run "${@:2}"
  exit
fi
[ "$(id -u)" -eq 0 ] || skipped 'only root can make a bare Debian'
for tool in debootstrap git unshare setpriv; do
  command -v "$tool" >/dev/null || skipped "there is no $tool here"
done
[ -n "$mirror" ] || [ "$suite" = noble ] || skipped 'apt has no mirror of Debian here'
unshare --mount --pid --fork mount -t tmpfs tmpfs /tmp 2>/dev/null || skipped 'this machine allows no mounts'
mkdir -p "$cache"
root=$(mktemp -d "$cache/$1.XXXXXX")
chmod 755 "$root"
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child bash ".ci/${0##*/}" --inside "$1" "$root" "${@:2}" &
inside=$!
# The first process in the namespace takes all others with it
finish()
{
  kill -KILL $(cat "/proc/$inside/task/$inside/children" 2>/dev/null) 2>/dev/null || :
  wait "$inside" 2>/dev/null || :
  rm -rf "$root"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
wait "$inside"
