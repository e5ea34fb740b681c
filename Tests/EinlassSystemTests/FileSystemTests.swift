import Foundation
import TestSupport
import Testing

@testable import EinlassSystem

@Suite struct FileSystemTests {
  @Test(
    arguments: [
      (0x6969, true), (0x517B, true), (0xFE53_4D42, true), (0xFF53_4D42, true), (0x5346_414F, true),
      (0x6B41_4653, true), (0x0102_1997, true), (0x00C3_6400, true), (0x0BD0_0BD0, true),
      (0x7375_7245, true), (0x564C, true), (0x0116_1970, true), (0x7461_636F, true),
      (0x2003_0528, true), (0x1983_0326, true), (0x4750_4653, true), (0xAAD7_AAEA, true),
      (0x786F_4256, true), (0xBACB_ACBC, true), (0x7C7C_6673, true),
      (0xEF53, false), (0x9123_683E, false), (0x5846_5342, false), (0x0102_1994, false),
      (0x794C_7630, false), (0x2FC1_2FC1, false), (0xF2F5_2010, false), (0xCA45_1A4E, false),
    ] as [(UInt32, Bool)])
  func `The type says whether a file system is on a network`(_ type: UInt32, _ isOnNetwork: Bool) {
    #expect(FileSystem.network.contains(type) == isOnNetwork)
  }

  @Test(
    arguments: [
      ("fuseblk", true), ("fuseblk.ntfs", true), ("fuse.fuse-overlayfs", true),
      ("fuse.gocryptfs", true), ("fuse.encfs", true),
      ("fuse.sshfs", false), ("fuse.glusterfs", false), ("fuse.s3fs", false),
      ("fuse.rclone", false),
      ("fuse.ceph-fuse", false), ("fuse.gvfsd-fuse", false), ("fuse.bindfs", false),
      ("fuse.mergerfs", false), ("fuse", false), ("virtiofs", false), ("fakeowner", false),
      ("fuseblkx", false), (nil, false),
    ] as [(String?, Bool)])
  func `A FUSE file system is on a network unless it is listed`(_ type: String?, _ isLocal: Bool) {
    #expect(FileSystem.isLocalFUSE(type) == isLocal)
  }

  @Test func `The type of a mount is found by its device`() {
    let mounts = """
      27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
      42 27 0:39 / /home/ada/back\\040up rw,nosuid - fuse /home/ada/a\\040-\\040b rw,user_id=0
      43 27 0:390 / /srv/a rw shared:2 master:1 - fuse.sshfs host:/ rw
      44 27 0:40 / /srv/- rw shared:3 - fuse.gocryptfs /srv/c rw
      45 27 0:41 / /srv/cut rw -
      46 27 0:40 /sub /srv/d rw - fuse.gocryptfs /srv/c rw
      47 27 259:70000 / /srv/e rw - fuseblk /dev/sdz rw

      """
    func type(_ major: UInt64, _ minor: UInt64) -> String? {
      // makedev(3)
      let device = (major & 0xFFF) << 8 | minor & 0xFF | (minor & 0xFFFF_FF00) << 12
      return FileSystem.mountType(of: FileStatus.Identity(device: device, inode: 1), in: mounts)
    }
    #expect(type(254, 0) == "ext4")
    #expect(type(0, 39) == "fuse")
    #expect(type(0, 390) == "fuse.sshfs")
    #expect(type(0, 40) == "fuse.gocryptfs")
    #expect(type(0, 41) == nil)
    #expect(type(0, 3) == nil)
    #expect(type(259, 70000) == "fuseblk")
  }

  @Test func `The nearest existing folder decides`() throws {
    let home = OrdinaryUser.makeHome()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    for path in [home, home + "/a/b/store.db", "/proc/self/status", "missing/store.db", "/"] {
      #expect(!FileSystem.isOnNetwork(nearest: path))
    }
  }
}
