public import Einlass

extension AccountStore {
  /// Creates a store that throws this problem at every use, so that a front end can start and show
  /// it.
  public convenience init(failing problem: Problem) {
    self.init(
      reading: { _, _ throws(Problem) in throw problem },
      changes: { _, _ throws(Problem) in throw problem },
      add: { _, _ throws(Problem) in throw problem },
      addAll: { _, _ throws(Problem) in throw problem },
      update: { _, _, _ throws(Problem) in throw problem },
      remove: { _, _ throws(Problem) in throw problem },
      decide: { _, _, _ throws(Problem) in throw problem },
      credentials: { _, _, _ throws(Problem) in throw problem },
      settle: { _, _ throws(Problem) in throw problem },
      forgetCredentials: { _ throws(Problem) in throw problem },
      setPreferred: { _, _, _, _ throws(Problem) in throw problem },
      lease: { _ throws(Problem) in throw problem },
      requireWritable: { () throws(Problem) in throw problem },
      registrations: RegistrationStore(failing: problem),
      protection: { _ throws(Problem) in throw problem },
      maintenance: StoreMaintenance(failing: problem),
      begunRenewals: .none,
      failedSignIns: .none,
      avatars: AvatarFiles(failing: problem),
      ownServers: OwnServerStore(failing: problem),
      users: UserStore(failing: problem))
  }
}
