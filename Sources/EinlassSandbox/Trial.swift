import EinlassSystem

/// `--try`: a shell or a command with a home folder of its own, in which every provider is simulated.
enum Trial {
  /// Goes on as a shell that starts a sandbox beside the command. Returns only if that fails.
  static func begin(_ command: [String], _ options: [String]) {
    guard let program = Program.path else { return }
    let words = ["sh", "-c", script, program, options.joined(separator: " ")]
    Program.become("/bin/sh", words + command)
  }

  /// Nothing of the person's is read or written: the folders of the XDG Base Directory Specification
  /// and the configuration of git, docker and kubectl are below the trial's home folder.
  private static let script = #"""
    umask 077
    home=$(mktemp -d) || exit 73
    "$0" $1 --home "$home" >"$home/sandbox.json" </dev/null &
    sandbox=$!
    shift
    trap 'kill "$sandbox" 2>/dev/null; wait "$sandbox"; rm -rf "$home"' EXIT
    trap 'exit 129' HUP
    trap 'exit 143' TERM
    trap : INT
    until [ -s "$home/sandbox.json" ]; do
      kill -0 "$sandbox" 2>/dev/null || exit 69
      sleep 0.05
    done
    unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME DOCKER_CONFIG KUBECONFIG
    export HOME="$home" GIT_CONFIG_GLOBAL="$home/.gitconfig" GIT_CONFIG_NOSYSTEM=1
    export PATH="$(dirname "$0"):$PATH"
    if [ $# -eq 0 ]; then
      cd "$home" || exit 73
      cat >&2 <<'END'
    GitHub and all other providers are simulated in this shell. It has a home folder of its own, which
    exit removes. Begin with: einlassctl sign-in github
    On each page you are Ada or Grace. A server with a password takes ada and demo-password.
    END
      set -- "${SHELL:-/bin/sh}"
    fi
    "$@"
    """#
}
