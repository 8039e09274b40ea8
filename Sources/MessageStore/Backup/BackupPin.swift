import BalloonPOSIX

/// Keeps the stored files of a data directory unchanged while a backup copies them.
///
/// No stored file is deleted, and none is rewritten with less content. The pin is a lock on `backup.lock`,
/// which the system releases when the backup's process ends, even after a crash. Code that deletes or
/// rewrites files holds a ``FileChangePermit`` while it does so.
package struct BackupPin: Sendable {
    /// The age from which a pin no longer prevents changes; a backup that takes longer fails.
    package static let maximumAge = Duration.seconds(6 * 3600)

    private let lock: FileLock
    private let begin = ContinuousClock.now

    /// Pins the files once no permit to change them is held; waits for that for at most `patience`.
    ///
    /// Throws ``StoreError/backupRunning(process:)``, ``StoreError/filesChanging``, or
    /// ``StoreError/unavailable(path:_:)``.
    package init(dataDirectory: String, patience: Duration = .seconds(30)) async throws {
        let path = DataDirectory(path: dataDirectory).backupLock
        while true {
            do throws(SystemError) {
                // The file is readable by everyone: the server's user must be able to share the lock of a
                // file that root created.
                lock = try FileLock(path, mode: 0o644)
                return
            } catch {
                guard error.wouldBlock else { throw StoreError.unavailable(path: path, error) }
            }
            guard try FileChangePermit(path: path) != nil else {
                throw StoreError.backupRunning(process: FileLock.owner(of: path))
            }
            guard begin.duration(to: .now) < patience else { throw StoreError.filesChanging }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Whether the pin is so old that it no longer prevents changes; the backup may then be incomplete.
    package var isExpired: Bool { begin.duration(to: .now) >= Self.maximumAge }
}

/// The right to delete or rewrite stored files of a data directory; while it is held, no backup begins.
package struct FileChangePermit: Sendable {
    /// The shared lock; nil when a backup is running whose pin is too old to prevent changes.
    private let lock: FileLock?

    /// Creates a permit; nil while a backup has pinned the files: postpone the change.
    ///
    /// Throws ``StoreError/unavailable(path:_:)``.
    package init?(dataDirectory: String) throws(StoreError) {
        try self.init(path: DataDirectory(path: dataDirectory).backupLock)
    }

    init?(path: String, now: Int = SystemClock.secondsSince1970()) throws(StoreError) {
        do throws(SystemError) {
            do throws(SystemError) { lock = try FileLock(sharing: path) } catch {
                guard error.wouldBlock else { throw error }
                // The pin wrote its process number to the file when it began, so the file is as old as the
                // pin.
                let age = now - (try FileStatus.modifiedSecondsSince1970(path))
                guard age >= Int(BackupPin.maximumAge.components.seconds) else { return nil }
                lock = nil
            }
        } catch {
            throw .unavailable(path: path, error)
        }
    }
}
