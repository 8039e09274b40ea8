import BalloonJSON
import BalloonPOSIX
import HandlerBridges
import HandlerKit
import HandlerProtocol
import Logging
import Synchronization

/// Looks whether a program is a handler that can be relied on, and says what its author must mend.
struct HandlerCheck: Sendable {
    /// What was looked at, and what was found.
    struct Finding: Sendable {
        /// What came of it.
        enum Verdict: Hashable, Sendable {
            /// It is as it must be; with a fact worth knowing.
            case passed(String)
            /// It is not: what happened, and what to do about it.
            case failed(String, mend: String)
        }

        /// What was looked at.
        let name: String
        /// What was found.
        let verdict: Verdict
        /// What the program has logged since the finding before.
        var log: [String] = []
    }

    /// How long the program may take for one event.
    var deadline = Duration.seconds(30)
    /// How long it may take for anything else.
    var timings = ChildTimings()
    private let program: SpawnedProcess.Program
    private let configuration: JSONValue?
    private let samples: [InboundEvent]
    private let logger: Logger
    private let child = CheckedChild()

    /// Takes a program, the configuration that it gets, and an event of each kind that it may be given.
    init(
        _ program: SpawnedProcess.Program, configuration: JSONValue?, samples: [InboundEvent], logger: Logger
    ) {
        self.program = program
        self.configuration = configuration
        self.samples = samples
        self.logger = logger
    }

    /// Ends the program, which is in a process group of its own, and with it ``run(_:)``; nothing is told any more.
    func end() async { await child.end() }

    /// Whether the check was cut short.
    var isEnded: Bool { child.isEnded }

    /// Looks at everything, and tells each finding at once; whether all is well.
    func run(_ tell: @escaping @Sendable (Finding) -> Void) async -> Bool {
        let loop: DescriptorLoop
        do throws(SystemError) { loop = try DescriptorLoop() } catch {
            tell(Finding(name: "start", verdict: .failed("\(error)", mend: "raise the limit of open files")))
            return false
        }
        var run = CheckRun(check: self, loop: loop, directory: program.directory) { finding in
            if !child.isEnded { tell(finding) }
        }
        await run.lookAtAll()
        return run.isSound
    }

    /// What to do about a program that could not be started.
    func advice(about error: SystemError) -> String { program.advice(about: error) }

    func start(_ loop: DescriptorLoop, _ tail: LogTail) async throws(SystemError) -> ChildSession {
        let session = ChildSession(
            label: "balloon.check", loop: loop, timings: timings,
            host: HandlerHost(business: BusinessID("check"), slug: "check", logger: logger) { _, _, _ in
                .random()
            }, tail: tail, logger: logger)
        child.replace(with: session)
        _ = try await session.start(program)
        // There may have been nothing to end yet.
        if isEnded { await session.kill() }
        return session
    }

    func introduce(_ session: ChildSession) async -> Result<Introduction, CheckFailure> {
        let initialization = Initialization(
            business: BusinessID("00000000-0000-4000-8000-000000000002"), slug: "check",
            configuration: configuration, maximumInFlight: 16, deadline: deadline)
        let answer = await session.call(within: timings.handshake) { id in
            RPCLine.request(id: id, method: Method.initialize) { initialization.write(to: &$0) }
        }
        switch answer {
        case .success(let result):
            do throws(HandlerProtocolError) {
                let introduction = try Introduction(result)
                await session.introduced()
                return .success(introduction)
            } catch {
                return .failure(CheckFailure("\(error)", "answer initialize as the protocol says"))
            }
        case .failure(.refused(let failure)):
            return .failure(
                CheckFailure(
                    "initialize was refused: \(failure.message)", "give it the configuration that it needs"))
        case .failure(let error): return .failure(await failure(error, session))
        }
    }

    /// Why there is no answer to the first call.
    private func failure(_ error: BridgeError, _ session: ChildSession) async -> CheckFailure {
        if let noise = await session.firstNoise { return .noise(noise) }
        switch error {
        case .timedOut where await session.strayAnswerCount > 0: return .strayAnswer
        case .timedOut:
            return CheckFailure(
                "initialize was not answered within \(timings.handshake.milliseconds / 1000) s",
                "answer it first, and flush standard output after each line")
        case .ended:
            let exit = await session.waitForExit()
            // What env(1) and shells say of a program that they cannot run.
            let isMissing = exit == .status(126) || exit == .status(127)
            return CheckFailure(
                "the process ended with \(exit.words)",
                isMissing
                    ? "its first line names a program that cannot be run; look also for carriage returns"
                    : "standard error says why; it must stay, read standard input, and answer initialize")
        default: return CheckFailure(error.reason, "read standard input, and answer initialize")
        }
    }

    /// A context for what a program wants to be told of; nil where there is no sample of it.
    func sample(of subscription: Subscription) -> Sample? {
        switch subscription {
        case .kind(let kind): samples.first { $0.kind == kind }.map { Sample(event: $0) }
        case .replyFailed: Sample.replyFailure
        }
    }

    /// An event, and the failure of a reply if it tells of that.
    struct Sample {
        let event: InboundEvent
        var replyFailure: ReplyFailure?

        fileprivate static var replyFailure: Sample? {
            let failure = ReplyFailure(
                reply: .random(), inReplyTo: .random(), kind: .text, status: .refused, httpStatus: 400,
                reason: "Bad Request")
            // What a writer wrote is JSON.
            return (try? JSONDocument(failure.json)).map {
                Sample(event: InboundEvent.decode(message: $0), replyFailure: failure)
            }
        }
    }
}

/// What is wrong, and what to do about it.
struct CheckFailure: Error {
    let what: String
    let mend: String

    init(_ what: String, _ mend: String) {
        self.what = what
        self.mend = mend
    }

    static func noise(_ line: String) -> CheckFailure {
        CheckFailure(
            "on standard output stands what is no message: \(line)",
            "write one line of JSON there for each answer, {\"jsonrpc\":\"2.0\",\"id\":…,\"result\":…}, and "
                + "all the rest to standard error")
    }

    static let strayAnswer = CheckFailure(
        "an answer came with an id that no open call has", "answer each call with its own id, as it came")
}

extension SpawnedProcess.Exit {
    /// For a person.
    var words: String {
        switch self {
        case .status(let number): "status \(number)"
        case .signal(let number): "signal \(number)"
        }
    }
}
