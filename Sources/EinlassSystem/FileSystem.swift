internal import CSystem
internal import Glibc

/// The file systems on which processes can share a store.
///
/// A store needs locks of a file and of its ranges, shared memory of a file, and notifications of
/// its changes, each for all processes with the file. With one kernel they always hold. A file
/// system with other users lacks one of them, or has it only with settings that it does not tell.
public enum FileSystem {
  /// Returns whether the nearest existing folder at or above this path is on a file system that may
  /// have other users than this kernel.
  public static func isOnNetwork(nearest path: String) -> Bool {
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let error = errno
      let (parent, _) = SafeDirectory.split(path)
      return (error == ENOENT || error == ENOTDIR) && parent != path && isOnNetwork(nearest: parent)
    }
    defer { close(descriptor) }
    return isOnNetwork(descriptor)
  }

  static func isOnNetwork(_ descriptor: Int32) -> Bool {
    let type = csystem_file_system_type(descriptor)
    guard type == fuse else { return network.contains(type) }
    guard let file = FileStatus.of(descriptor)?.identity else { return true }
    return !isLocalFUSE(mountType(of: file, in: mounts))
  }

  /// Types of statfs(2).
  static let network: [UInt32] = [
    0x6969,  // NFS
    0x517B, 0xFE53_4D42, 0xFF53_4D42,  // SMB, SMB 2, CIFS
    0x5346_414F, 0x6B41_4653,  // OpenAFS, AFS of the kernel
    0x0102_1997,  // 9p: virtual machines, WSL
    0x00C3_6400,  // Ceph
    0x0BD0_0BD0,  // Lustre
    0x7375_7245,  // Coda
    0x564C,  // NCP
    // Their pages are coherent, but notifications stay on one machine, and OCFS2's locks may.
    0x0116_1970, 0x7461_636F,  // GFS2, OCFS2
    0x2003_0528, 0x1983_0326, 0x4750_4653, 0xAAD7_AAEA,  // OrangeFS, BeeGFS, GPFS, PanFS
    0x786F_4256, 0xBACB_ACBC, 0x7C7C_6673,  // folders of VirtualBox, VMware, Parallels
  ]

  static let fuse: UInt32 = 0x6573_5546

  /// Returns whether a FUSE file system of this type is known to have the only way to its files. Any
  /// other one counts as a network: its files may change on a server, on the other side of a virtual
  /// machine (virtiofs), or in a folder beside it (bindfs, mergerfs).
  static func isLocalFUSE(_ mountType: String?) -> Bool {
    // A disk of this machine, such as NTFS.
    mountType == "fuseblk" || mountType?.hasPrefix("fuseblk.") == true
      || ["fuse.fuse-overlayfs", "fuse.gocryptfs", "fuse.encfs"].contains(mountType)
  }

  /// Returns the type of the file's mount, such as `fuse.sshfs`, from the text of
  /// `/proc/self/mountinfo` (proc(5)); `nil` if the mount is not listed.
  static func mountType(of file: FileStatus.Identity, in mounts: String) -> String? {
    let device = "\(file.majorDevice):\(file.minorDevice)"
    for line in mounts.split(separator: "\n") {
      // 36 35 98:0 /root /point options [field…] - type source options
      let words = line.split(separator: " ")
      guard words.count > 6, words[2] == device,
        let dash = words[6...].firstIndex(of: "-"), dash + 1 < words.count
      else { continue }
      return String(words[dash + 1])
    }
    return nil
  }

  private static var mounts: String {
    let path = "/proc/self/mountinfo"
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    let bytes = try? readToEnd(descriptor, path: path, limitBytes: 1 << 22)
    return String(decoding: bytes ?? [], as: UTF8.self)
  }
}
