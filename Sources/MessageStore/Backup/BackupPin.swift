import BalloonPOSIX

/// Keeps the stored files of a data directory as they are while a backup copies them: none is deleted, and none is
/// rewritten with less content.
///
/// A lock on `backup.lock`, so that the system releases it when the process of the backup ends, however that
/// happens. Code that deletes or rewrites files holds a ``FileChangePermit`` meanwhile.
package struct BackupPin: Sendable {
    /// The age from which a pin no longer holds up changes; a backup that takes longer fails.
    package static let maximumAge = Duration.seconds(6 * 3600)

    private let lock: FileLock
    private let begin = ContinuousClock.now

    /// Pins the files, once the current changes have ended; waits for at most `patience`.
    ///
    /// Throws ``StoreError/backupRunning(process:)``, ``StoreError/filesChanging``, or
    /// ``StoreError/unavailable(path:_:)``.
    package init(dataDirectory: String, patience: Duration = .seconds(30)) async throws {
        let path = DataDirectory(path: dataDirectory).backupLock
        while true {
            do throws(SystemError) {
                // Readable for all: the server's user must be able to share the lock of a file that root created.
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

    /// Whether the pin is so old that changes ignore it, so that the backup may be incomplete.
    package var isExpired: Bool { begin.duration(to: .now) >= Self.maximumAge }
}

/// The right to delete or rewrite stored files of a data directory; no backup begins before the value is destroyed.
package struct FileChangePermit: Sendable {
    /// Nil when the permit is given although a backup is running, because its pin is too old.
    private let lock: FileLock?

    /// Returns nil while a backup has pinned the files: postpone the change.
    ///
    /// Throws ``StoreError/unavailable(path:_:)``.
    package init?(dataDirectory: String) throws(StoreError) {
        try self.init(path: DataDirectory(path: dataDirectory).backupLock)
    }

    init?(path: String, now: Int = SystemClock.secondsSince1970()) throws(StoreError) {
        do throws(SystemError) {
            do throws(SystemError) { lock = try FileLock(sharing: path) } catch {
                guard error.wouldBlock else { throw error }
                // The pin wrote its process to the file when it began.
                let age = now - (try FileTime.modifiedSecondsSince1970(path))
                guard age >= Int(BackupPin.maximumAge.components.seconds) else { return nil }
                lock = nil
            }
        } catch {
            throw .unavailable(path: path, error)
        }
    }
}
