import EinlassCrypto
import Foundation

/// The repository `ada/hello.git` with one commit, for trials of `git clone` with a token. Served as
/// files, by git's dumb HTTP protocol (gitprotocol-http(5)).
extension OAuth2Provider {
  /// Answers a request below the repository's path. The token is the password of any user name, or a
  /// bearer token.
  func repository(
    _ request: Request, at path: String, in world: inout World
  ) throws(OAuth2Refusal) -> Answer {
    let credential = request.authorization("Basic").flatMap { Data(base64Encoded: $0) }
    let password = credential.map { String(decoding: $0, as: UTF8.self) }?
      .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).last.map(String.init)
    let token = request.authorization("Bearer") ?? password
    let flaw = token.map { self.token($0, in: world).flaw } ?? "missing"
    world.note("token", flaw == nil, flaw)
    guard flaw == nil else {
      throw OAuth2Refusal(
        "invalid_token", "The token is \(flaw ?? "unknown")", status: 401, challenge: "Basic")
    }
    switch request.path.dropFirst(path.count) {
    case "/HEAD": return .text("ref: refs/heads/main\n")
    case "/info/refs": return .text("\(GitObject.commit.id)\trefs/heads/main\n")
    case let place:
      let object = GitObject.all.first {
        place == "/objects/\($0.id.prefix(2))/\($0.id.dropFirst(2))"
      }
      guard let object else { return .text("This path does not exist.\n", status: 404) }
      return Answer(type: "application/x-git-loose-object", body: object.compressed)
    }
  }
}

/// A loose object of git.
private struct GitObject {
  /// The SHA-1 digest of kind, length and content, in hexadecimal.
  let id: String
  private let digest: [UInt8]
  /// The object in the format of zlib (RFC 1950), as one stored block.
  let compressed: [UInt8]

  init(_ kind: String, _ content: [UInt8]) {
    let bytes = Array("\(kind) \(content.count)\0".utf8) + content
    digest = Digest.sha1(bytes)
    id = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let count = UInt16(bytes.count)
    var (low, high) = (UInt32(1), UInt32(0))
    for byte in bytes {
      low = (low + UInt32(byte)) % 65521
      high = (high + low) % 65521
    }
    let checksum = high << 16 | low
    compressed =
      [0x78, 0x01, 0x01] + [count, ~count].flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] } + bytes
      + [24, 16, 8, 0].map { UInt8(checksum >> $0 & 255) }
  }

  static let file = GitObject("blob", Array("Cloned with a token of einlass.\n".utf8))
  static let tree = GitObject("tree", Array("100644 README\0".utf8) + file.digest)
  static let commit = GitObject(
    "commit",
    Array(
      """
      tree \(tree.id)
      author Ada Lovelace <ada@example.org> 1700000000 +0000
      committer Ada Lovelace <ada@example.org> 1700000000 +0000

      Say how the repository came here

      """.utf8))
  static let all = [file, tree, commit]
}
