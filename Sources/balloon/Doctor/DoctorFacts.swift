import BalloonTransport
import MessageServer

/// The state of the machine and the server that `balloon doctor` judges.
struct DoctorFacts {
    /// The answer of the gateway to a request without a token.
    enum Gateway: Equatable {
        /// The gateway answered at this time of our clock, in the middle of the request; its `Date`, if any. Both in seconds since 1970.
        case answered(date: Int?, at: Int, roundTripSeconds: Int)
        /// The request failed.
        case failed(TransportError)
        /// No request was made.
        case skipped
    }

    /// The data directory.
    enum DataDirectory: Equatable {
        /// The directory does not exist: the first start creates it.
        case missing
        /// The directory's owner and permission bits, and paths below it with another owner.
        case present(owner: UInt32, mode: UInt32, strangers: [String])
        /// The directory cannot be examined, for this reason.
        case unreadable(String)
    }

    /// The times of some syncs of a small file in the data directory.
    enum Sync: Equatable {
        /// The median in microseconds.
        case median(microseconds: Int)
        /// No file could be written there, for this reason.
        case failed(String)
        /// No sync was made, because the directory does not exist.
        case skipped
    }

    /// The database of a store in PostgreSQL.
    enum Database: Equatable {
        /// The standbys of PostgreSQL, and whether a commit waits for one.
        case answered(standbys: Int, isAwaited: Bool)
        /// The database cannot be used, for this reason.
        case failed(String)
    }

    /// The gateway's address.
    var gatewayURL: String
    var gateway = Gateway.skipped
    var dataDirectoryPath: String
    var dataDirectory = DataDirectory.missing
    /// The user that runs the command.
    var user: UInt32 = 0
    /// The free bytes on the data directory's disk; nil when unknown.
    var freeBytes: UInt64?
    /// The free bytes below which the server is not ready.
    var minimumFreeBytes: UInt64 = 0
    var sync = Sync.skipped
    /// A store in PostgreSQL; nil without one.
    var database: Database?
    /// The folder of the ledger of erasures, and why no file can be written in it; nil for one in the data directory.
    var ledger: (folder: String, failure: String?)?
    /// The largest possible number of open descriptors.
    var maximumOpenFiles: Int
    /// The warnings of the configuration, such as secrets that every user can read.
    var warnings: [(text: String, remedy: String)] = []
    /// The certificates' files, and when each expires, in seconds since 1970; nil without a usable certificate.
    var certificates: [(path: String, expiresAt: Int?)] = []
    /// The time of the examination, in seconds since 1970.
    var now: Int
    /// The handler programs that cannot be started.
    var programs: [(text: String, remedy: String)] = []
    /// The state of the running server; nil when none runs.
    var server: ServerStatus?
}

/// One result of `balloon doctor`.
struct DoctorFinding: Equatable {
    /// The severity; only a problem makes the command fail.
    enum State: String {
        case ok, warning, problem
    }

    /// The name of the check.
    private(set) var check = ""
    let state: State
    /// The facts, as a sentence.
    let text: String
    /// The remedy, beginning with a verb; nil when the state is `ok`.
    var remedy: String?

    static func ok(_ text: String) -> DoctorFinding { DoctorFinding(state: .ok, text: text) }

    static func warning(_ text: String, _ remedy: String) -> DoctorFinding {
        DoctorFinding(state: .warning, text: text, remedy: remedy)
    }

    static func problem(_ text: String, _ remedy: String) -> DoctorFinding {
        DoctorFinding(state: .problem, text: text, remedy: remedy)
    }

    /// The finding of the check with this name.
    func of(_ check: String) -> DoctorFinding {
        var finding = self
        finding.check = check
        return finding
    }
}
