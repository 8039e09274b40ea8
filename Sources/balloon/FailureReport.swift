import BalloonPOSIX
import BalloonTransport
import MessageServer
import MessageStore
import Replication
import RetentionClient
import Simulator

/// The text that the terminal shows for a failed command, and its exit code.
struct FailureReport {
    let code: CommandStatus
    /// One line for each problem, each followed by its hint.
    let text: String

    /// Words an error of this project; nil for errors of other libraries, such as the argument parser.
    init?(_ error: any Error) {
        switch error {
        case let error as CommandFailure: self.init(error)
        case let error as ConfigurationError: self.init(error)
        case let error as StoreError: self.init(error, Self.advice(about: error))
        case let error as BackupError: self.init(error, Self.advice(about: error))
        case let error as ReversalNotDead:
            self.init(.usage, "\(error)", hint: "run balloon deadletters list to see the attempts")
        case let error as ReplicaError: self.init(error)
        case let error as SimulatorError: self.init(error, Self.advice(about: error))
        case let error as DeviceAnswerError: self.init(error)
        case let error as TransportError: self.init(error)
        case let error as RetentionAPIError: self.init(error)
        case let error as RetentionFileError: self.init(error)
        case let error as SystemError: self.init(error)
        default: return nil
        }
    }

    private init(_ code: CommandStatus, _ reason: String, hint: String?) {
        self.code = code
        text = "error: \(reason)\n" + (hint.map { "  hint: \($0)\n" } ?? "")
    }

    private init(_ error: any Error, _ advice: (code: CommandStatus, hint: String?)) {
        self.init(advice.code, "\(error)", hint: advice.hint)
    }

    private init(_ error: ReplicaError) {
        switch error {
        case .unreachable: self.init(.unavailable, "\(error)", hint: "check the database and its URL")
        case .unusable: self.init(.configuration, "\(error)", hint: nil)
        }
    }

    private init(_ error: CommandFailure) {
        switch error {
        case .unknownArgument(let argument, let reason, let hint):
            self.init(.usage, "\(argument) \(reason)", hint: hint)
        case .unreadable(let path, let error):
            self.init(.unavailable, "\(path): \(error)", hint: "check the path and its mode")
        case .unstartable(let program, let error, let hint):
            self.init(.unavailable, "\(program): \(error)", hint: hint)
        case .handlerNotReady(let program, let hint):
            self.init(.unavailable, "the handler \(program) did not become ready", hint: hint)
        case .unwritten(let target, let error):
            self.init(
                .unavailable, "\(target): \(error)",
                hint: error.isFull ? "free space on the disk; the file is incomplete" : nil)
        case .malformed(let path, let reason): self.init(.badData, "\(path): \(reason)", hint: nil)
        case .noDevelopmentServer(let path):
            self.init(
                .unavailable, "\(path) does not exist",
                hint: "start balloon dev, or name its directory with --data, or a configuration with --config"
            )
        case .foreignDataDirectory(let path):
            self.init(
                .usage, "\(path) is the data directory of balloon serve",
                hint:
                    "name another directory with --data: the simulated gateway would accept the replies that wait there"
            )
        case .noServer(let path):
            self.init(
                .unavailable, "no server uses the data directory \(path)",
                hint: "start the server, or name its data directory with --data")
        case .noDataDirectory(let path):
            self.init(
                .unavailable, "directory \(path) does not exist",
                hint: "name the server's data directory with --data")
        case .socketPathTooLong(let path):
            self.init(
                .unavailable, "\(path) is too long for a socket, so the server has no control socket",
                hint: "move the data directory so that this path has at most 107 bytes")
        case .nothingAsked(let customer):
            self.init(
                .unavailable, "customer \(customer) has no unanswered question of the business",
                hint:
                    "first send a message that the business answers with a question; to list all questions, run: balloon conversations show"
            )
        case .notErased(let paths):
            self.init(
                .badData, "not erased: \(paths.joined(separator: ", "))",
                hint: "these files are quarantined or in use; repair or remove them, then repeat the command")
        case .noAnswer(let url):
            self.init(
                .unavailable, "no server answers at \(url)", hint: "start the server, or check the address")
        case .refused(409, let answer):
            self.init(
                .failed, "the server refused the request: \(answer)",
                hint:
                    "run balloon conversations list to see who answers the conversation; --take takes it over"
            )
        case .refused(let status, let answer):
            self.init(
                .failed, "the server answered \(status): \(answer)",
                hint: "see the server's log for the reason")
        case .changeRefused(let reason):
            self.init(
                .failed, "the server refused the change: \(reason)",
                hint:
                    "run balloon events list, deadletters list, replies list --all or conversations list to see the states"
            )
        case .jobUnanswered(let job):
            self.init(
                .unavailable, "the server stopped answering about job \(job), which may still run",
                hint: "repeat the command; completed steps are not repeated")
        case .unknownJob(let job):
            self.init(
                .usage, "job \(job) is unknown: the server was restarted, or the job ended long ago",
                hint: "repeat the command; completed steps are not repeated")
        case .noControlSocket:
            self.init(
                .usage, "--wait can reach neither the control socket of this server nor its gateway",
                hint: "name its configuration with --config, or the data directory of balloon dev with --data"
            )
        case .unsendable(.fileUnreadable(let error, _)):
            self.init(
                .unavailable, "a file cannot be sent: \(error)", hint: "check the file's path and its size")
        case .unsendable(.businessUnknown):
            self.init(.usage, SendRefusal.businessUnknown.reason, hint: "name another --business")
        case .unsendable(.assignment(let refusal)):
            self.init(
                .failed, "the message is not sent: \(refusal)",
                hint:
                    "run balloon conversations list to see who answers the conversation; --take takes it over"
            )
        case .unsendable(let refusal):
            self.init(
                .badData, "the message is not sent: \(refusal.reason)",
                hint: "run balloon validate to see the problems")
        case .unknownAttachment(let hash):
            self.init(
                .usage, "\(hash) is the beginning of no attachment's hash, or of several",
                hint: "run balloon attachments list to see the hashes")
        case .notAToken:
            self.init(
                .badData, "the token is not three parts of Base64url with dots between them",
                hint: "copy the whole token, without Bearer")
        case .tokenRefused(let reason): self.init(.failed, reason, hint: nil)
        case .problemsFound(let count, let areInJournal):
            self.init(
                .badData, "\(count) \(count == 1 ? "problem" : "problems")",
                hint: areInJournal
                    ? "restore the journal's files from a backup, or run balloon journal repair; damaged files are not used for a rebuild"
                    : "run balloon conversations rebuild to restore lines that the journal has; restore the others from a backup"
            )
        case .badVariable(let name, let hint):
            self.init(.configuration, "\(name) has an invalid value", hint: hint)
        }
    }

    private init(_ error: ConfigurationError) {
        code = .configuration
        text = error.report
    }

    private static func advice(about error: BackupError) -> (code: CommandStatus, hint: String?) {
        switch error {
        case .expired: (.failed, "write the backup to a faster disk, and compress it later")
        case .shrunk: (.failed, "repeat the backup")
        case .unfit: (.badData, "remove the file, which Balloon did not write")
        case .unwritten(let reason):
            (
                .unavailable,
                reason.isFull ? "free space on the disk" : "check the file, or the program that reads it"
            )
        case .unreadable: (.unavailable, "check the file")
        case .damaged, .incomplete, .differs: (.badData, "empty the directory, and restore another backup")
        case .newerFormat: (.badData, "use the version of Balloon that made the backup, or a later one")
        case .notEmpty: (.usage, "name an empty directory with --data")
        case .ledgerMissing:
            (
                .usage,
                "name the latest ledger of erasures with --erasures; with --without-erasures, customers erased since the backup return"
            )
        case .ledgerOlder:
            (.usage, "empty the directory, and name the latest ledger of the server that made the backup")
        }
    }

    private static func advice(about error: StoreError) -> (code: CommandStatus, hint: String?) {
        switch error {
        case .inUse: (.unavailable, "stop that process, or name another directory")
        case .noData: (.unavailable, "name the server's data directory with --data")
        case .unknownVersion: (.badData, "use the program version that wrote it, or name another directory")
        case .damaged, .quarantined:
            (.badData, "restore the file from a backup, or run balloon journal repair")
        case .quarantinedConversation: (.badData, "run balloon conversations rebuild")
        case .unavailable: (.unavailable, "check the path, its mode and the disk")
        case .unknownRecord, .notDead, .notPending:
            (.usage, "run balloon events list or balloon deadletters list to see the records")
        case .notReplayable:
            (
                .usage,
                "run balloon deadletters list to find the reply, and balloon deadletters retry to send it"
            )
        case .changed: (.failed, "run balloon events show to see its state")
        case .notFinished: (.failed, "wait for its end; run balloon events show to see its state")
        case .unknownReply, .replyNotDead:
            (.usage, "run balloon replies list --all to see the names and states")
        case .assignment: (.failed, "run balloon conversations list to see who answers the conversation")
        case .backupRunning: (.failed, "wait for its end, or end that process")
        case .restoreUnfinished: (.badData, "empty the directory, then run balloon restore again")
        case .copyOfDatabase:
            (.usage, "run the command on the machine of the running server that has the store")
        case .filesChanging: (.failed, "repeat the command in a minute")
        case .ledgerMissing, .otherLedger:
            (
                .configuration,
                "mount its volume, or name its path with store.erasureLedger and --config; delete ledger-mark in the data directory only if the ledger is lost"
            )
        case .beingSent: (.failed, "repeat the command when this attempt has ended")
        case .notDurable, .overloaded, .tooManyPending, .quotaReached, .tooManyRequests, .closed, .notLeased,
            .alreadyDecided, .alreadyResolved:
            (.failed, nil)
        }
    }

    private static func advice(about error: SimulatorError) -> (code: CommandStatus, hint: String?) {
        switch error {
        case .messageMalformed, .messageNotAnObject: (.badData, nil)
        case .gatewayMissing:
            (.unavailable, "start balloon dev, which --wait, --large and messages over 10 KB need")
        case .gatewayRefused: (.unavailable, "check that balloon dev listens at that address")
        case .signInStopped:
            (.unavailable, "open the sign-in address of the provider in a browser to see why")
        }
    }

    private init(_ error: DeviceAnswerError) {
        code = .usage
        text = (["error: " + error.reason] + error.offered.map { "  " + $0 }).map { terminalText($0) + "\n" }
            .joined()
    }

    private init(_ error: RetentionAPIError) {
        switch error {
        case .refused(let status, let code):
            let name = error.knownCode.map { " (\($0))" } ?? ""
            self.init(
                .failed, "the App Store answered \(status) with error code \(code)\(name)",
                hint: "correct what the code names, and repeat the command")
        case .noAccess:
            self.init(
                .failed, "the App Store answered 404 without an error code",
                hint: "ask Apple for access to the Retention Messaging API for this app")
        case .unauthorized:
            self.init(
                .configuration, "the App Store refused the token",
                hint: "check keyFile, keyID, issuerID and bundleID of the app")
        case .rateLimited:
            self.init(.pending, "the App Store limits the rate of calls", hint: "repeat the command later")
        case .unreadable:
            self.init(
                .unavailable, "the answer of the App Store is unreadable", hint: "repeat the command later")
        case .unreachable(let error): self.init(error)
        case .cancelled: self.init(.failed, "the call was cancelled", hint: "repeat the command")
        case .key: self.init(.failed, "no token could be signed: out of memory", hint: nil)
        }
    }

    private init(_ error: RetentionFileError) {
        switch error {
        case .unreadable(let path, let reason), .unwritable(let path, let reason):
            self.init(.unavailable, "\(path): \(reason)", hint: "check the path and its mode")
        case .malformed(let path):
            self.init(
                .badData, "\(path) has another format",
                hint: path.hasSuffix("-defaults.json")
                    ? "restore it from a backup; it is the only record of the default messages"
                    : "remove it, and run balloon retention status to write it again")
        }
    }

    private init(_ error: TransportError) {
        switch error {
        case .requestInvalid, .schemeRefused: self.init(.usage, error.reason, hint: "check the address")
        case .hostUnresolved, .connectionFailed, .tlsFailed, .certificateRefused, .timedOut, .interrupted,
            .failed:
            self.init(.unavailable, error.reason, hint: "check the address, and that the server is running")
        case .addressRefused, .contentFailed, .responseTooLarge, .cancelled:
            self.init(.failed, error.reason, hint: nil)
        }
    }

    private init(_ error: SystemError) {
        let isListening = error.call.hasPrefix("bind ") || error.call.hasPrefix("listen ")
        let hint = "choose another address with --listen, or with adminListen for the admin listener"
        self.init(.unavailable, "\(error)", hint: isListening ? hint : nil)
    }
}
