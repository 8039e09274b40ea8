import CLinux
import Glibc

/// The owners of files, and the user as whom this process reads and writes them.
package enum FileOwner {
    /// The user whose rights this process has.
    package static var currentUser: UInt32 { geteuid() }

    /// The user who started this process; ``actAsOwner(of:)`` does not change it.
    package static var realUser: UInt32 { getuid() }

    /// Gives this process the rights of a directory's owner instead of root's; does nothing for other users, and when root
    /// owns the directory or the directory does not exist.
    ///
    /// New files then belong to that owner, and links that the owner has put into the directory lead nowhere where the owner
    /// may not write. Changes all threads. ``actAsRealUser()`` returns the rights.
    package static func actAsOwner(of directory: String) throws(SystemError) {
        guard currentUser == 0 else { return }
        let found = try SystemError.unlessMissing { () throws(SystemError) in try FileStatus.read(directory) }
        guard let status = found else { return }
        let (user, group) = (status.st_uid, status.st_gid)
        if user == 0 { return }
        _ = try uninterrupted("setgroups") { setgroups(0, nil) }
        _ = try uninterrupted("setegid") { setegid(group) }
        _ = try uninterrupted("seteuid") { seteuid(user) }
    }

    /// Runs `body` with the rights of the user who started this process, and returns to the present rights afterwards.
    package static func asRealUser<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (user, group) = (geteuid(), getegid())
        // Neither call fails: the rights were root's before, and root is still the saved user.
        if user != realUser {
            seteuid(realUser)
            setegid(getgid())
        }
        defer {
            if user != realUser {
                setegid(group)
                seteuid(user)
            }
        }
        return try body()
    }

    /// Gives this process the rights of the user who started it; root's other groups are not restored.
    package static func actAsRealUser() throws(SystemError) {
        guard currentUser != realUser else { return }
        _ = try uninterrupted("seteuid") { seteuid(realUser) }
        _ = try uninterrupted("setegid") { setegid(getgid()) }
    }
}
