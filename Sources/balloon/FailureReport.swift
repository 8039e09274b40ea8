import BalloonPOSIX
import BalloonTransport
import MessageServer
import MessageStore
import Simulator

/// What a person at a terminal is told about a failure, and the exit code for a program.
struct FailureReport {
    let code: CommandStatus
    /// One line for each thing that is wrong, each with its hint below it.
    let text: String

    /// Nil for errors that are none of ours.
    init?(_ error: any Error) {
        switch error {
        case let error as CommandFailure: self.init(error)
        case let error as ConfigurationError: self.init(error)
        case let error as StoreError: self.init(error)
        case let error as SimulatorError: self.init(error)
        case let error as TransportError: self.init(error)
        case let error as SystemError: self.init(error)
        default: return nil
        }
    }

    private init(_ code: CommandStatus, _ reason: String, hint: String?) {
        self.code = code
        text = "error: \(reason)\n" + (hint.map { "  hint: \($0)\n" } ?? "")
    }

    private init(_ error: CommandFailure) {
        switch error {
        case .unknownArgument(let argument, let reason, let hint):
            self.init(.usage, "\(argument) \(reason)", hint: hint)
        case .unreadable(let path, let error):
            self.init(.unavailable, "\(path): \(error)", hint: "check the path and its mode")
        case .unstartable(let program, let error, let hint):
            self.init(.unavailable, "\(program): \(error)", hint: hint)
        case .unwritten(let target, let error):
            self.init(
                .unavailable, "\(target): \(error)",
                hint: error.isFull ? "not all was written: is there room on the disk?" : nil)
        case .malformed(let path, let reason): self.init(.badData, "\(path): \(reason)", hint: nil)
        case .noDevelopmentServer(let path):
            self.init(
                .unavailable, "there is no \(path)",
                hint: "start balloon dev, or name its directory with --data, or a configuration with --config"
            )
        case .noDataDirectory(let path):
            self.init(.unavailable, "there is no directory \(path)", hint: "name the server's with --data")
        case .socketPathTooLong(let path):
            self.init(
                .unavailable, "\(path) is too long for a socket, so the server has none",
                hint: "keep the data where that path has at most 107 bytes"
            )
        case .noAnswer(let url):
            self.init(
                .unavailable, "nothing answers at \(url)", hint: "start the server, or check the address")
        case .refused(let status, let answer):
            self.init(
                .failed, "the server answered \(status): \(answer)", hint: "the server's log has the reason")
        case .jobUnanswered(let job):
            self.init(
                .unavailable, "the server has not answered about job \(job), which may run still",
                hint: "repeat the command: what is done already is not done twice")
        case .unknownJob(let job):
            self.init(
                .usage, "the server knows no job \(job): it was restarted, or that is long ago",
                hint: "repeat the command: what is done already is not done twice")
        case .noReply(let seconds):
            self.init(
                .failed, "the business has not answered within \(seconds) seconds",
                hint: "the server's log tells what became of the message")
        case .unsendable(.fileUnreadable(let error)):
            self.init(.unavailable, "a file cannot be sent: \(error)", hint: "check the path and its size")
        case .unsendable(.businessUnknown):
            self.init(.usage, SendRefusal.businessUnknown.reason, hint: "name another --business")
        case .unsendable(let refusal):
            self.init(
                .badData, "the message is not sent: \(refusal.reason)",
                hint: "balloon validate shows what is wrong with a file")
        case .unknownAttachment(let hash):
            self.init(
                .usage, "not exactly one attachment begins with \(hash)",
                hint: "balloon attachments list shows them")
        case .notAToken:
            self.init(.badData, "the token is not three parts of Base64url with dots between them", hint: nil)
        case .tokenRefused(let reason): self.init(.failed, reason, hint: nil)
        case .problemsFound(let count, let areInJournal):
            self.init(
                .badData, "\(count) \(count == 1 ? "problem" : "problems")",
                hint: areInJournal
                    ? "restore the journal's files from a backup, or balloon journal repair; nothing is rebuilt from damaged ones"
                    : "balloon conversations rebuild writes what the journal has; the rest is in a backup")
        case .badVariable(let name, let hint):
            self.init(.configuration, "\(name) has no meaning", hint: hint)
        }
    }

    private init(_ error: ConfigurationError) {
        code = .configuration
        text = error.report
    }

    private init(_ error: StoreError) {
        switch error {
        case .inUse:
            self.init(.unavailable, "\(error)", hint: "stop that process, or name another directory")
        case .noData:
            self.init(.unavailable, "\(error)", hint: "name the server's data directory with --data")
        case .unknownVersion:
            self.init(.badData, "\(error)", hint: "use the program that wrote it, or name another directory")
        case .damaged, .quarantined:
            self.init(
                .badData, "\(error)", hint: "restore the file from a backup, or balloon journal repair")
        case .quarantinedConversation:
            self.init(.badData, "\(error)", hint: "balloon conversations rebuild")
        case .unavailable:
            self.init(.unavailable, "\(error)", hint: "check the path, its mode and the disk")
        case .unknownRecord, .notDead, .notPending:
            self.init(
                .usage, "\(error)", hint: "balloon events list and balloon deadletters list show the records")
        case .notReplayable:
            self.init(
                .usage, "\(error)",
                hint: "balloon deadletters list shows it; balloon deadletters retry sends it")
        case .changed:
            self.init(.failed, "\(error)", hint: "balloon events show tells how far it is")
        case .notFinished:
            self.init(.failed, "\(error)", hint: "wait for its end; balloon events show tells how far it is")
        case .unknownReply:
            self.init(.usage, "\(error)", hint: "balloon replies list shows the names")
        case .beingSent:
            self.init(.failed, "\(error)", hint: "repeat the command when this attempt has ended")
        case .notDurable, .overloaded, .tooManyPending, .quotaReached, .closed, .notLeased, .alreadyDecided,
            .alreadyResolved:
            self.init(.failed, "\(error)", hint: nil)
        }
    }

    private init(_ error: SimulatorError) {
        switch error {
        case .addressNotLoopback:
            self.init(.usage, "the simulator listens on loopback addresses only", hint: nil)
        case .messageMalformed(let error):
            self.init(.badData, "the message is not JSON: \(error)", hint: nil)
        case .messageNotAnObject: self.init(.badData, "the message is not a JSON object", hint: nil)
        case .nothingToRefer:
            self.init(.badData, "the message has no interactiveData", hint: "leave --large away")
        case .gatewayMissing:
            self.init(
                .unavailable, "there is no simulator that keeps payloads and replies",
                hint: "--wait, --large and messages over 10 KB need balloon dev")
        case .gatewayRefused(let status):
            self.init(
                .unavailable, "the simulator answered \(status)",
                hint: "is it balloon dev that listens there?")
        }
    }

    private init(_ error: TransportError) {
        switch error {
        case .requestInvalid, .schemeRefused: self.init(.usage, error.reason, hint: "check the address")
        case .hostUnresolved, .connectionFailed, .tlsFailed, .certificateRefused, .timedOut, .interrupted,
            .failed:
            self.init(.unavailable, error.reason, hint: "check the address, and that the server runs")
        case .addressRefused, .contentFailed, .responseTooLarge, .cancelled:
            self.init(.failed, error.reason, hint: nil)
        }
    }

    private init(_ error: SystemError) {
        let isListening = error.call.hasPrefix("bind ") || error.call.hasPrefix("listen ")
        self.init(
            .unavailable, "\(error)", hint: isListening ? "choose another address with --listen" : nil)
    }
}
