import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Payments
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// The money of one customer: charged exactly once when the device was told of a success, and else not at all.
@Suite struct NetChargeTests {
    private typealias Under = PaymentUnderTest

    /// A payment provider that charges a key when the test says so.
    private final class Provider: Sendable {
        private struct State {
            var charged: Set<String> = []
            var reversed: Set<String> = []
            var isClosed = false
        }

        /// Whether it remembers a reversal and refuses the later charge, as the page for authors says.
        let remembers: Bool
        private let state = Mutex(State())

        init(remembers: Bool) { self.remembers = remembers }

        var net: Int { state.withLock { $0.charged.count } }

        func close(_ isClosed: Bool) { state.withLock { $0.isClosed = isClosed } }

        func charge(_ key: String) -> Bool {
            state.withLock { state in
                if remembers, state.reversed.contains(key) { return false }
                state.charged.insert(key)
                return true
            }
        }

        func reverse(_ key: String) throws {
            try state.withLock { state in
                if state.isClosed { throw ScriptedPayments.Refusal() }
                state.charged.remove(key)
                state.reversed.insert(key)
            }
        }
    }

    /// The end of the handler's call, which the test decides.
    private final class Call: Sendable {
        enum End: Sendable {
            case charged, declined, lost
        }

        private let ends: AsyncStream<End>
        private let end: AsyncStream<End>.Continuation

        init() { (ends, end) = AsyncStream.makeStream() }

        func end(_ value: End) { end.yield(value) }

        func outcome(_ amount: String) async throws -> PaymentOutcome {
            for await end in ends {
                switch end {
                case .charged: return .success(charged: amount, reference: "ch_1")
                case .declined: return .failure()
                case .lost: throw HandlerPayments.Failure.overran
                }
            }
            throw CancellationError()
        }
    }

    /// The state in which the server is killed.
    enum Kill: String, CaseIterable, Sendable {
        case never, begun, uncertain, reversing, ended
    }

    /// One run: the provider charges at a time after the call's beginning, nil for never.
    struct Run: Sendable, CustomTestStringConvertible {
        let seconds: Double?
        /// Whether the call is to a program or a service, which ends after ten minutes.
        let isOutside: Bool
        let kill: Kill

        var testDescription: String {
            "\(seconds.map { "\($0) s" } ?? "never") \(isOutside ? "outside" : "Swift") kill \(kill)"
        }

        static let all: [Run] = [0.1, 24.9, 25.1, 29, 84, 86, 599, 601, nil].flatMap { seconds in
            [true, false].flatMap { isOutside in
                Kill.allCases.map { Run(seconds: seconds, isOutside: isOutside, kill: $0) }
            }
        }
    }

    @Test(arguments: Run.all)
    func `a customer is charged once when the device was told, and else not at all`(run: Run) async throws {
        // After ten minutes only a provider that remembers reversals can refuse a charge.
        let provider = Provider(remembers: run.seconds == 601)
        let (call, key) = (Call(), Under.attempt())
        let handler = ScriptedPayments {
            try await call.outcome($0.sheet.total.amount)
        } reverse: {
            try provider.reverse($0.attempt?.id ?? "")
        }
        var under = try await PaymentUnderTest(handler)
        let clock = under.clock
        var elapsed = 0.0
        func advance(to seconds: Double) {
            clock.advance(by: .milliseconds(Int(((seconds - elapsed) * 1000).rounded())))
            elapsed = max(elapsed, seconds)
        }
        let first = under
        let post = Task { await first.pay() }
        #expect(await eventually { handler.paid.count == 1 && clock.rests.contains(.seconds(25)) })
        // The handler's provider continues when the server is killed, and its answer reaches nobody.
        var isKilled = false
        func kill() async throws {
            isKilled = true
            under = try await under.restarted()
        }
        if run.kill == .begun { try await kill() }

        var isTold = false
        if let seconds = run.seconds, seconds < 25, !isKilled {
            advance(to: seconds)
            #expect(provider.charge(key))
            call.end(.charged)
            #expect(await post.value == .json(Under.success))
            isTold = true
        } else {
            if !isKilled {
                advance(to: 25)
                #expect(await post.value == Under.failed(.uncertain))
            }
            try await under.wait(for: .uncertain)
            // The handler is told at once, which decides nothing.
            #expect(await eventually { handler.reversed.count == 1 })
            if run.kill == .uncertain {
                try await kill()
                #expect(await eventually { handler.reversed.count == 2 })
            }
            #expect(try await under.payment().attempts.map(\.state) == [.uncertain])
            if let seconds = run.seconds, seconds < 600 {
                advance(to: seconds)
                #expect(provider.charge(key) && provider.net == 1)
                if run.kill == .reversing { provider.close(true) }
                if !isKilled { call.end(.charged) }
            }
            if run.kill == .reversing { provider.close(true) }
            let isAnswered = !isKilled && (run.seconds ?? 600) < 600
            if !isAnswered {
                advance(to: 599.9)
                #expect(try await under.payment().attempts.map(\.state) == [.uncertain])
                advance(to: 600)
                if run.isOutside, !isKilled { call.end(.lost) }
            }
            if !isAnswered, !run.isOutside, !isKilled {
                // The task still runs: nothing is decided before it returns.
                advance(to: 601)
                let isCharged = run.seconds != nil && provider.charge(key)
                #expect(try await under.payment().attempts.map(\.state) == [.uncertain])
                call.end(isCharged ? .charged : .declined)
                try await under.wait(for: isCharged ? .reversed : .failed)
            } else {
                if run.kill == .reversing {
                    try await under.wait(for: .reversing)
                    #expect(
                        await eventually { handler.reversed.count >= 2 && clock.waits(about: .seconds(1)) })
                    provider.close(false)
                    if !isKilled { try await kill() }
                }
                try await under.wait(for: .reversed)
                if run.seconds == 601 { #expect(!provider.charge(key)) }
            }
        }
        if run.kill == .ended {
            #expect(try await eventually { try await !under.payment().isBusy })
            try await kill()
        }
        advance(to: elapsed + 3600)
        #expect(try await eventually { try await !under.payment().isBusy })
        #expect(provider.net == (isTold ? 1 : 0))
        #expect(handler.paid == [key])
        await under.stop()
        // The killed server's call ends with the test.
        call.end(.declined)
        if isKilled { _ = await post.value }
    }
}
