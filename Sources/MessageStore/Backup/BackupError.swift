package import BalloonPOSIX

/// An error of a backup or of its restoration.
package enum BackupError: Error, Hashable, Sendable {
    /// The backup took longer than `BackupPin.maximumAge`: write it to a faster target.
    case expired
    /// A file became smaller while it was copied, which only another program does: repeat the backup.
    case shrunk(path: String)
    /// A file's path or size does not fit into a tar archive: remove the file, which Balloon did not write.
    case unfit(path: String)
    /// The archive could not be written: check its target.
    case unwritten(SystemError)
    /// The archive could not be read: check the file.
    case unreadable(SystemError)
    /// The file is not a backup, or it is damaged: use another backup.
    ///
    /// The text says what is wrong.
    case damaged(String)
    /// The archive ends before its manifest, because the backup was not completed: use another backup.
    case incomplete
    /// The content of a file differs from the manifest: the archive is damaged. Use another backup.
    case differs(path: String)
    /// A newer version of Balloon wrote the backup: restore with that version.
    case newerFormat(Int)
    /// The target directory is not empty: name an empty directory.
    case notEmpty(path: String)
    /// No ledger of erasures was named: name it, or confirm that erased customers may be restored.
    case ledgerMissing
    /// The ledger lacks this backup, so it is older or another server's: name the server's latest ledger.
    case ledgerOlder(path: String)
}

extension BackupError: CustomStringConvertible {
    /// One line for an operator: the problem and its place.
    package var description: String {
        switch self {
        case .expired: "the backup took longer than six hours"
        case .shrunk(let path): "\(path) became smaller while it was copied"
        case .unfit(let path): "\(path) does not fit into a tar archive"
        case .unwritten(let error): "the backup cannot be written: \(error)"
        case .unreadable(let error): "the backup cannot be read: \(error)"
        case .damaged(let reason): "this is no intact backup: \(reason)"
        case .incomplete: "the backup is incomplete: it ends before its manifest"
        case .differs(let path): "\(path) differs from the backup's manifest"
        case .newerFormat(let format): "the backup has format \(format), which this program does not know"
        case .notEmpty(let path): "the directory \(path) is not empty"
        case .ledgerMissing: "no ledger of erasures is named"
        case .ledgerOlder(let path): "the ledger of erasures \(path) does not know this backup"
        }
    }
}
