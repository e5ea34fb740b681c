import EinlassSystem
import FoundationEssentials

/// The repositories of a sandbox: one for each provider, made at its first request and served by
/// `git http-backend` (gitprotocol-http(5)).
final class GitRepositories: Sendable {
  private let folder = FileManager.default.temporaryDirectory
    .appending(path: "einlass-sandbox-\(UUID().uuidString)", directoryHint: .isDirectory)

  /// Forgets all pushes: the next request finds the first commit alone.
  func remove() { try? FileManager.default.removeItem(at: folder) }

  /// Answers a request below the path of a provider's repository.
  func answer(
    _ request: Request, of provider: String, at path: String, mayChangeWorkflows: Bool
  ) throws -> Answer {
    let root = folder.appending(path: provider, directoryHint: .isDirectory)
    let repository = root.appending(path: path, directoryHint: .isDirectory)
    if !FileManager.default.fileExists(atPath: repository.path) { try make(repository) }
    let output = try git(
      ["http-backend"], input: request.body,
      [
        "GIT_PROJECT_ROOT": root.path, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": request.path,
        "REQUEST_METHOD": request.method, "QUERY_STRING": request.rawQuery,
        "CONTENT_TYPE": request.header("Content-Type") ?? "",
        "CONTENT_LENGTH": "\(request.body.count)",
        "HTTP_CONTENT_ENCODING": request.header("Content-Encoding") ?? "",
        "GIT_PROTOCOL": request.header("Git-Protocol") ?? "",
        "MAY_CHANGE_WORKFLOWS": mayChangeWorkflows ? "yes" : "",
      ])
    return Answer(commonGatewayOutput: output)
  }

  private func make(_ repository: URL) throws {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try git(["init", "-q", "--bare", "-b", "main", repository.path])
    try git(["--git-dir", repository.path, "config", "http.receivepack", "true"])
    try git(
      ["--git-dir", repository.path, "fast-import", "--quiet"], input: Array(Self.content.utf8))
    let hooks = repository.appending(path: "hooks", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: hooks, withIntermediateDirectories: true)
    let hook = hooks.appending(path: "update").path
    guard
      FileManager.default.createFile(
        atPath: hook, contents: Data(Self.updateHook.utf8), attributes: [.posixPermissions: 0o700])
    else { throw CocoaError(.fileWriteUnknown) }
  }

  /// Runs git without the settings of this machine, and returns its output.
  @discardableResult
  private func git(
    _ arguments: [String], input: [UInt8] = [], _ environment: [String: String] = [:]
  ) throws -> [UInt8] {
    let given = folder.appending(path: "input")
    try Data(input).write(to: given)
    let variables =
      environment.map { "\($0)=\($1)" } + [
        "PATH=\(Environment.value("PATH") ?? "/usr/bin:/bin")", "HOME=\(folder.path)",
        "GIT_CONFIG_NOSYSTEM=1",
      ]
    let process = try ChildProcess(
      "/bin/sh",
      ["-c", #"exec env -i "$@" <"$0""#, given.path] + variables + ["git"] + arguments,
      isQuiet: true)
    let bytes = process.output.readAll(limitBytes: 1 << 26) ?? []
    // A service of http-backend may end with an error after its answer.
    guard process.exitCode() == 0 || !bytes.isEmpty else { throw CocoaError(.executableLoad) }
    return bytes
  }

  /// A stream of git-fast-import(1).
  private static let content = """
    commit refs/heads/main
    author Ada Lovelace <ada@example.org> 1700000000 +0000
    committer Ada Lovelace <ada@example.org> 1700000000 +0000
    data <<END
    Say how the repository came here
    END
    M 100644 inline README
    data <<END
    Cloned with a token of einlass.
    END

    """

  /// Refuses workflow files to a token without the scope for them. Its arguments are the name of the
  /// reference and its commits before and after the push (githooks(5)).
  private static let updateHook = """
    #!/bin/sh
    [ -z "$MAY_CHANGE_WORKFLOWS" ] || exit 0
    case $2 in *[!0]*) old=$2 ;; *) old=$(git hash-object -t tree /dev/null) ;; esac
    file=$(git diff --name-only "$old" "$3" -- .github/workflows | head -n 1)
    [ -n "$file" ] || exit 0
    echo "refusing to allow an OAuth App to create or update workflow $file without workflow scope"
    exit 1

    """
}

extension Answer {
  /// Reads the output of a CGI program (RFC 3875 section 6).
  fileprivate init(commonGatewayOutput output: [UInt8]) {
    let split = output.firstRange(of: Array("\r\n\r\n".utf8))
    let head = String(decoding: output[..<(split?.lowerBound ?? 0)], as: UTF8.self)
    var headers = head.split(whereSeparator: \.isNewline).map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return Parameter(
        name: String(parts[0]), value: parts.count > 1 ? String(parts[1]).trimming(" ") : "")
    }
    func take(_ name: String) -> String? {
      guard let index = headers.firstIndex(where: { $0.name == name }) else { return nil }
      return headers.remove(at: index).value
    }
    let status = take("Status").flatMap { Int($0.prefix(3)) } ?? 200
    let type = take("Content-Type") ?? "text/plain"
    self.init(
      status: status, type: type, body: Array(output[(split?.upperBound ?? 0)...]),
      headers: headers)
  }
}
