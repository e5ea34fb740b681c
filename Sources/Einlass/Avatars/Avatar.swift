/// The format of a picture. SVG is none of them, because an SVG file may hold scripts and addresses.
public enum AvatarFormat: String, Sendable, CaseIterable {
  case png, jpeg, gif, webp

  /// The media type: `image/png`.
  public var mediaType: String { "image/\(rawValue)" }

  /// Recognizes a picture by its first bytes; `nil` for anything else. The server's own word for the
  /// type does not count.
  init?(of bytes: [UInt8]) {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) {
      self = .gif
    } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
      self = .webp
    } else {
      return nil
    }
  }
}

/// A picture that was fetched.
public struct Avatar: Sendable, Equatable {
  /// The largest accepted size of a file.
  public static let limitBytes = 256 << 10

  public var bytes: [UInt8]
  public var format: AvatarFormat

  public init(bytes: [UInt8], format: AvatarFormat) {
    self.bytes = bytes
    self.format = format
  }
}

/// A picture in a file beside the store.
public struct KeptAvatar: Sendable, Equatable {
  /// The absolute path of the file.
  public var path: String
  public var format: AvatarFormat
  public var fetchedAt: UnixTime

  public init(path: String, format: AvatarFormat, fetchedAt: UnixTime) {
    self.path = path
    self.format = format
    self.fetchedAt = fetchedAt
  }

  /// Whether it needs no new fetch: it is younger than a day. One from the future does, because the
  /// clock was set meanwhile.
  func isFresh(at now: UnixTime) -> Bool { (0..<86_400).contains(now - fetchedAt) }
}

/// The pictures beside the store, by their web address.
public struct AvatarFiles: Sendable {
  /// Returns the picture of this address; `nil` if none is kept.
  public var kept: @Sendable (_ address: String) throws(Problem) -> KeptAvatar?
  /// Keeps the picture of this address in place of the former one.
  public var keep:
    @Sendable (_ address: String, Avatar, _ fetchedAt: UnixTime) throws(Problem) -> KeptAvatar
  /// Removes the pictures of all other addresses. The addresses are asked for only if pictures are
  /// kept, and after their files were listed, so that the picture of an account that is just added
  /// stays. A failure leaves all of them.
  public var keepOnly: @Sendable (_ addresses: () throws(Problem) -> [String]) -> Void

  public init(
    kept: @escaping @Sendable (String) throws(Problem) -> KeptAvatar?,
    keep: @escaping @Sendable (String, Avatar, UnixTime) throws(Problem) -> KeptAvatar,
    keepOnly: @escaping @Sendable (() throws(Problem) -> [String]) -> Void
  ) {
    self.kept = kept
    self.keep = keep
    self.keepOnly = keepOnly
  }

  /// Returns files that throw this problem at every use.
  public init(failing problem: Problem) {
    self.init(
      kept: { _ throws(Problem) in throw problem },
      keep: { _, _, _ throws(Problem) in throw problem }, keepOnly: { _ in })
  }
}
