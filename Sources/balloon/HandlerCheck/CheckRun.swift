import BalloonPOSIX
import HandlerBridges
import HandlerKit
import HandlerProtocol
import Logging

/// One run of all checks, which starts the program several times, one after another.
struct CheckRun {
    let check: HandlerCheck
    let loop: DescriptorLoop
    let directory: String
    private(set) var isSound = true
    private let tell: @Sendable (HandlerCheck.Finding) -> Void
    private let tail = LogTail()
    var nextDelivery = 1
    /// The number of replies to each event, by the name of its check; nil for an event without an accepted answer.
    private var replyCounts: [String: Int] = [:]
    /// The name of the event check that took longest so far, and its time.
    private var slowest: (name: String, time: Duration) = ("nothing", .zero)

    init(
        check: HandlerCheck, loop: DescriptorLoop, directory: String,
        tell: @escaping @Sendable (HandlerCheck.Finding) -> Void
    ) {
        self.tell = tell
        self.check = check
        self.loop = loop
        self.directory = directory
    }

    mutating func lookAtAll() async {
        guard let (session, introduction) = await begin("handshake") else { return }
        guard await lookAtEvents(session, introduction) else { return await session.kill() }
        await lookAtOddities(session, introduction)
        let noise = await session.firstNoise.map { HandlerCheck.Finding.Verdict.noise($0) }
        record("noise", noise ?? .passed("nothing but messages on standard output"))
        await lookAtShutdown(session)
        await lookAtCrash()
    }

    /// Starts the program and waits for its introduction; nil when the handshake failed.
    private mutating func begin(_ name: String) async -> (ChildSession, Introduction)? {
        guard !check.isEnded else { return nil }
        let session: ChildSession
        do throws(SystemError) { session = try await check.start(loop, tail) } catch {
            record(
                name,
                .failed(
                    "the program cannot be started: \(error)", correction: check.program.advice(about: error))
            )
            return nil
        }
        switch await check.introduce(session) {
        case .success(let introduction):
            let wanted = Subscription.all.filter(introduction.events.contains).map(\.name)
            record(
                name, .passed("\(introduction.name ?? "no name"); wants \(wanted.joined(separator: ", "))"))
            return (session, introduction)
        case .failure(let failure):
            record(name, failure)
            await session.kill()
            return nil
        }
    }

    /// Runs the event checks; returns false when the program hangs or ended, because every later check would
    /// fail as well.
    private mutating func lookAtEvents(_ session: ChildSession, _ introduction: Introduction) async -> Bool {
        for wanted in Subscription.all where introduction.events.contains(wanted) {
            for sample in check.samples(of: wanted) {
                guard await lookAt(Self.name(wanted, sample), sample, session) else { return false }
            }
        }
        guard let event = firstSample(introduction) else { return true }
        guard await lookAt("the same event again", event, session, attempt: 2),
            await lookAt("an event of over 1 MiB, in a file", oversize(event), session, inFile: true)
        else { return false }
        guard await lookAtPieces(event, session), await lookAtCharacters(introduction, event, session)
        else { return false }
        await lookAtMany(event, session, count: min(introduction.maximumInFlight ?? 16, 16))
        lookAtTime()
        return await lookAtDevices(session, introduction)
    }

    /// Plays the devices that show less than an iPhone; returns false when the program hangs or ended.
    ///
    /// The server refuses an answer that a device cannot show and that has no fallback, so the customer gets nothing.
    private mutating func lookAtDevices(_ session: ChildSession, _ introduction: Introduction) async -> Bool {
        for device in HandlerCheck.Device.all {
            var events = 0
            for wanted in Subscription.all where introduction.events.contains(wanted) {
                for sample in check.samples(of: wanted) where sample.replyFailure == nil {
                    let name = Self.name(wanted, sample)
                    let answer = await ask(session, sample.sent(from: device), attempt: 1, inFile: false)
                    guard case .success(let result) = answer else {
                        record("\(name) from \(device.name)", verdict(answer, after: .zero).about(sample))
                        if case .failure(.refused) = answer { continue }
                        return false
                    }
                    events += 1
                    guard let problem = device.problem(with: result, elsewhere: replyCounts[name]) else {
                        continue
                    }
                    record("\(name) from \(device.name)", problem.about(sample))
                    events = .min
                }
            }
            guard events > 0 else { continue }
            record(device.name, .passed("each answer reaches the customer"))
        }
        return true
    }

    private static func name(_ wanted: Subscription, _ sample: HandlerCheck.Sample) -> String {
        "event \(wanted.name)\(sample.file.map { " of \($0)" } ?? "")"
    }

    private func firstSample(_ introduction: Introduction) -> HandlerCheck.Sample? {
        Subscription.all.first(where: introduction.events.contains).flatMap { check.samples(of: $0).first }
    }

    /// Checks that the program reads until the line feed; false when the program hangs or has ended.
    ///
    /// Writes one event in two pieces, because a single read of a pipe may return less than a line.
    private mutating func lookAtPieces(_ event: HandlerCheck.Sample, _ session: ChildSession) async -> Bool {
        let begun = ContinuousClock.now
        let call = parameters(event, attempt: 1, path: nil)
        let beginning = Array(call.line(0).prefix { $0 != UInt8(ascii: ",") })
        await session.notify(beginning)
        // Wait until the program has read the first piece, so that it does not get both pieces at once.
        let patience = begun + check.deadline
        while await !session.hasReadAll, ContinuousClock.now < patience {
            // The task of a check is never cancelled, so the sleep does not throw.
            _ = try? await Task.sleep(for: .milliseconds(10))
        }
        let answer = await session.call(within: check.deadline) {
            Array(call.line($0).dropFirst(beginning.count))
        }
        return record(
            "an event in pieces", answer, since: begun,
            unread: "read until the line feed; one read may return less than a line")
    }

    /// Checks that the program reads the characters that break some JSON readers and splitters of lines; false when it
    /// hangs or has ended.
    ///
    /// They are in the history too, so that a program without texts gets them.
    private mutating func lookAtCharacters(
        _ introduction: Introduction, _ event: HandlerCheck.Sample, _ session: ChildSession
    ) async -> Bool {
        let text = check.samples(of: .kind(.text)).first ?? event
        let body = Array(Self.unusualText.utf8)
        // Only the body is replaced: a program may need the other members.
        guard let message = try? JSONDocument(text.event.message.replacing(members: ["body": body]))
        else { return true }
        var sample = event
        if introduction.events.contains(.kind(.text)) {
            sample = HandlerCheck.Sample(
                event: InboundEvent.decode(message: message, attributes: text.event.attributes),
                file: text.file)
        }
        sample.history = [
            Conversation.Entry(
                seq: 1, at: "2026-07-10T17:00:00.000Z", direction: .inbound, kind: .text, id: .random(),
                message: message.root)
        ]
        let begun = ContinuousClock.now
        return record(
            "a text with unusual characters",
            await ask(session, sample, attempt: 1, inFile: false), since: begun,
            unread: "end lines at line feeds only; a text may have U+2028, U+2029, U+0085 and half an emoji")
    }

    private static let unusualText =
        #""half an emoji \ud83d, and lines\#u{2028}that\#u{2029}do\#u{85}not end""#

    /// Records the answer to an event; returns false when the program hangs or has ended.
    private mutating func record(
        _ name: String, _ answer: ChildSession.Answer, since begun: ContinuousClock.Instant,
        unread correction: String
    ) -> Bool {
        switch answer {
        case .success, .failure(.refused): record(name, verdict(answer, after: .now - begun))
        case .failure(let error):
            record(name, .failed(error.reason, correction: correction))
            return false
        }
        return true
    }

    private mutating func lookAtTime() {
        let (name, time) = (slowest.name, slowest.time.milliseconds)
        record(
            "slow",
            slowest.time * 2 < check.deadline
                ? .passed("\(name) took longest, \(time) ms of \(check.deadline.milliseconds)")
                : .failed(
                    "\(name) took \(time) ms, and the server's limit is \(check.deadline.milliseconds)",
                    correction:
                        "answer sooner and send the rest with \"reply\" later, or raise \"deadlineSeconds\""))
    }

    /// The event, enlarged beyond the longest line of the protocol.
    private func oversize(_ sample: HandlerCheck.Sample) -> HandlerCheck.Sample {
        let event = sample.event
        let padding = String(repeating: "x", count: ProtocolVersion.maximumLineBytes)
        // Insert an unknown member in front of the message's own members.
        let message = Array(#"{"padding":"\#(padding)","#.utf8) + event.message.text.dropFirst()
        guard let document = try? JSONDocument(message) else { return sample }
        return HandlerCheck.Sample(
            event: InboundEvent.decode(message: document, attributes: event.attributes),
            replyFailure: sample.replyFailure, file: sample.file)
    }

    private mutating func lookAt(
        _ name: String, _ event: HandlerCheck.Sample, _ session: ChildSession, attempt: Int = 1,
        inFile: Bool = false
    ) async -> Bool {
        let begun = ContinuousClock.now
        let strayAnswers = await session.strayAnswerCount
        let answer = await ask(session, event, attempt: attempt, inFile: inFile)
        let time = ContinuousClock.now - begun
        if time > slowest.time { slowest = (name, time) }
        switch answer {
        case .failure(.timedOut) where await session.strayAnswerCount > strayAnswers:
            record(name, .strayAnswer)
        case .failure(.ended):
            let exit = await session.waitForExit()
            record(
                name,
                .failed(
                    "the process ended with \(exit.words)",
                    correction: "catch the error that standard error shows"))
        default: record(name, verdict(answer, after: time).about(event))
        }
        if case .success(let result) = answer, let outcome = HandlerCheck.outcome(result) {
            replyCounts[name] = outcome.replies.count
            if outcome.asksWithoutText, attempt == 1, !inFile { record(name, .questionWithoutText) }
        }
        return switch answer {
        case .success, .failure(.refused): true
        case .failure: false
        }
    }

    /// Sends the same event several times at once, each time as a delivery of its own, and checks that all are
    /// answered.
    ///
    /// `count` is the number of concurrent events that the program allows, at most 16.
    private mutating func lookAtMany(_ event: HandlerCheck.Sample, _ session: ChildSession, count: Int) async
    {
        var calls: [(EventParameters)] = []
        for _ in 0..<count { calls.append(parameters(event, attempt: 1, path: nil)) }
        let deadline = check.deadline
        let begun = ContinuousClock.now
        let answers = await withTaskGroup(of: ChildSession.Answer.self) { group in
            for call in calls { group.addTask { await session.call(within: deadline, call.line) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let time = ContinuousClock.now - begun
        record("\(count) events at once", verdict(onMany: answers, after: time))
    }

    /// Judges the answers to events that were sent at once: missing answers are worse than wrong ones.
    private func verdict(
        onMany answers: [ChildSession.Answer], after time: Duration
    ) -> HandlerCheck.Finding.Verdict {
        let missing = answers.count { if case .success = $0 { false } else { !$0.isRefusal } }
        guard missing == 0 else {
            return .failed(
                "\(missing) events were not answered",
                correction: "answer each with its own id, or declare a smaller maxInFlight")
        }
        let wrong = answers.map { verdict($0, after: time) }.filter {
            if case .failed = $0 { true } else { false }
        }
        guard case .failed(let what, let correction)? = wrong.first else {
            return .passed("all were answered")
        }
        let count = wrong.count == answers.count ? "all" : "\(wrong.count)"
        return .failed("\(count) were answered wrongly: \(what)", correction: correction)
    }

    /// Checks the rare calls that authors tend to forget.
    private mutating func lookAtOddities(_ session: ChildSession, _ introduction: Introduction) async {
        if let event = firstSample(introduction) {
            let call = parameters(event, attempt: 1, path: nil)
            async let answer = session.call(within: check.timings.signOfLife, call.line)
            await session.notify(
                RPCLine.notification(method: Method.cancel) { $0.field("deliveryId", call.delivery) })
            _ = await answer
            await lookForLife(
                "cancel", session, correction: "accept a call without an id, and send no answer")
        }
        _ = await session.call(within: .seconds(1)) { RPCLine.request(id: $0, method: "unheardOf") }
        await lookForLife(
            "an unknown call", session,
            correction: "answer an unknown method with error -32601 or with any result")
    }

    private mutating func lookForLife(_ name: String, _ session: ChildSession, correction: String) async {
        let answer = await session.call(within: check.timings.signOfLife) {
            RPCLine.request(id: $0, method: Method.ping)
        }
        switch answer {
        case .success: record(name, .passed("the program still answers ping"))
        case .failure(let error):
            record(
                name, .failed("the program no longer answers ping: \(error.reason)", correction: correction))
        }
    }

    private mutating func lookAtShutdown(_ session: ChildSession) async {
        await session.stop()
        let exit = await session.waitForExit()
        record(
            "shutdown",
            exit == .status(0)
                ? .passed("the process ended by itself")
                : .failed(
                    "the process ended with \(exit.words)",
                    correction:
                        "end with status 0 when standard input ends, within \(check.timings.grace.milliseconds) ms"
                ))
    }

    /// Kills the program and starts it again: leftovers such as lock files must not prevent the second start.
    private mutating func lookAtCrash() async {
        guard let (first, _) = await begin("second start") else { return }
        await first.kill()
        guard let (second, _) = await begin("start after a kill") else { return }
        await second.stop()
    }

    private mutating func record(_ name: String, _ verdict: HandlerCheck.Finding.Verdict) {
        if case .failed = verdict { isSound = false }
        tell(HandlerCheck.Finding(name: name, verdict: verdict, log: tail.drain()))
    }
}
