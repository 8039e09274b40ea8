import BalloonPOSIX
import HandlerBridges
import HandlerKit
import HandlerProtocol
import Logging

/// Checks whether a program is a reliable handler, and tells its author what to correct.
struct HandlerCheck: Sendable {
    /// One check and its result.
    struct Finding: Sendable {
        /// The result of a check.
        enum Verdict: Error, Hashable, Sendable {
            /// The check passed; the text is a detail such as the number of replies.
            case passed(String)
            /// The check failed; the texts are what was observed, and what the author should correct.
            case failed(String, correction: String)
            /// The check passed, but a customer would see less than the author means; the texts are the same as of a
            /// failure.
            case warned(String, correction: String)
        }

        /// The name of the check.
        let name: String
        /// The result.
        let verdict: Verdict
        /// The program's log lines since the previous finding.
        var log: [String] = []
    }

    /// The time limit of one event.
    var deadline = Duration.seconds(30)
    /// The queues to which the program may hand off; all when it is empty.
    var queues: [String] = []
    /// The time limits of all other calls, and of the program's start and end.
    var timings = ChildTimings()
    let program: SpawnedProcess.Program
    let configuration: JSONValue?
    /// A sample event of each kind.
    let samples: [Sample]
    let logger: Logger
    private let child = CheckedChild()

    /// Kills the program, which has its own process group, and ends ``run(_:)``; no further finding is
    /// reported.
    func end() async { await child.end() }

    /// Whether the check was cancelled.
    var isEnded: Bool { child.isEnded }

    /// Runs all checks and reports each finding as soon as it is known; returns whether all passed.
    func run(_ tell: @escaping @Sendable (Finding) -> Void) async -> Bool {
        let loop: DescriptorLoop
        do throws(SystemError) { loop = try DescriptorLoop() } catch {
            tell(
                Finding(
                    name: "start", verdict: .failed("\(error)", correction: "raise the limit of open files")))
            return false
        }
        var run = CheckRun(check: self, loop: loop, directory: program.directory) { finding in
            if !child.isEnded { tell(finding) }
        }
        await run.lookAtAll()
        return run.isSound
    }

    func start(_ loop: DescriptorLoop, _ tail: LogTail) async throws(SystemError) -> ChildSession {
        let session = ChildSession(
            label: "balloon.check", loop: loop, timings: timings,
            host: HandlerHost(business: BusinessID("check"), slug: "check", logger: logger) { _, _, _ in
                .random()
            }, tail: tail, logger: logger)
        child.replace(with: session)
        _ = try await session.start(program)
        // If the check was cancelled while the program started, `end()` found no process to kill.
        if isEnded { await session.kill() }
        return session
    }

    func introduce(_ session: ChildSession) async -> Result<Introduction, Finding.Verdict> {
        let initialization = Initialization(
            business: BusinessID("00000000-0000-4000-8000-000000000002"), slug: "check",
            configuration: configuration, maximumInFlight: 16, deadline: deadline)
        do {
            return .success(try await session.introduce(initialization))
        } catch BridgeError.refused(let failure) {
            return .failure(
                .failed(
                    "initialize was refused: \(failure.message)",
                    correction: "pass the configuration that the handler needs with --config"))
        } catch let error as BridgeError {
            return .failure(await failure(error, session))
        } catch {
            return .failure(.failed("\(error)", correction: "answer initialize as the protocol specifies"))
        }
    }

    /// Explains why the program did not answer `initialize`, its first call.
    private func failure(_ error: BridgeError, _ session: ChildSession) async -> Finding.Verdict {
        if let noise = await session.firstNoise { return .noise(noise) }
        switch error {
        case .timedOut where await session.strayAnswerCount > 0: return .strayAnswer
        case .timedOut:
            return .failed(
                "initialize was not answered within \(timings.handshake.milliseconds / 1000) s",
                correction: "answer initialize first, and flush standard output after each line")
        // A program that has ended before the call was made is not running.
        case .ended, .notRunning:
            let exit = await session.waitForExit()
            // The status that env(1) and shells return for a program that they cannot run.
            let isMissing = exit == .status(126) || exit == .status(127)
            return .failed(
                "the process ended with \(exit.words)",
                correction: isMissing
                    ? "check the program named in its first line, and remove carriage returns"
                    : "read standard error for the cause; keep the program running, read standard input, and answer initialize"
            )
        default: return .failed(error.reason, correction: "read standard input, and answer initialize")
        }
    }

    /// The events that check a subscription: the author's own or, if there are none, a canned event.
    func samples(of subscription: Subscription) -> [Sample] {
        switch subscription {
        case .kind(let kind):
            let found = samples.filter { $0.event.kind == kind }
            let own = found.filter { $0.file != nil }
            return own.isEmpty ? found : own
        case .replyFailed: return Sample.replyFailure.map { [$0] } ?? []
        case .consent: return Sample.consent.map { [$0] } ?? []
        }
    }

    /// An event that a check sends to the program; `replyFailure` is the failed reply that it reports, if any.
    struct Sample: Sendable {
        let event: InboundEvent
        var replyFailure: ReplyFailure?
        /// The name of the author's file that has the event; nil for a canned event.
        var file: String?
        /// The earlier messages of the conversation.
        var history: [Conversation.Entry] = []

        fileprivate static var consent: Sample? {
            let message =
                #"{"type":"consent","state":"given","at":"2026-11-28T09:00:00.000Z","words":"subscribe","types":[]}"#
            return (try? JSONDocument(Array(message.utf8))).map {
                Sample(event: InboundEvent.decode(message: $0))
            }
        }

        fileprivate static var replyFailure: Sample? {
            let failure = ReplyFailure(
                reply: .random(), inReplyTo: .random(), kind: .text, status: .refused, httpStatus: 400,
                reason: "Bad Request")
            // A JSON writer produced these bytes, so parsing does not fail.
            return (try? JSONDocument(failure.json)).map {
                Sample(event: InboundEvent.decode(message: $0), replyFailure: failure)
            }
        }
    }
}

extension HandlerCheck.Finding.Verdict {
    static func noise(_ line: String) -> Self {
        .failed(
            "standard output has a line that is not a message: \(line)",
            correction:
                "write one line of JSON there for each answer, {\"jsonrpc\":\"2.0\",\"id\":…,\"result\":…}, and "
                + "all the rest to standard error")
    }

    static let strayAnswer = Self.failed(
        "an answer has an id that matches no open call",
        correction: "answer each call with its own id, unchanged")
}

extension SpawnedProcess.Exit {
    /// The exit in words.
    var words: String {
        switch self {
        case .status(let number): "status \(number)"
        case .signal(let number): "signal \(number)"
        }
    }
}
