import BalloonPOSIX
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// The open requests of payments, which outlive their limits while a charge may have to be reversed.
struct OpenPaymentTests {
    private final class Folder: Sendable {
        let temporary = TemporaryDirectory()
        private let seconds = Mutex(0)

        func advance(by seconds: Int) { self.seconds.withLock { $0 += seconds } }

        func open() throws -> OpenRequests {
            try OpenRequests(
                directory: temporary.file("requests"), logger: LogCollector().logger, now: { [self] in now })
        }

        var now: Timestamp {
            Timestamp(milliseconds: 1_700_000_000_000).advanced(by: .seconds(seconds.withLock { $0 }))
        }
    }

    /// Adds an accepted payment whose time ends after ten minutes.
    private func add(_ number: Int, isBusy: Bool, to requests: OpenRequests) async throws {
        let entry = ReplyID(record: UInt64(number), index: 0)
        _ = try await requests.request(of: entry) { now in
            var request = OpenRequest(
                .payment, business: BusinessID("b"), customer: CustomerID("c"),
                requestIdentifier: "r-\(number)", entry: entry, payload: [], stateLifetime: .seconds(60),
                releaseLifetime: .zero, at: now)
            request.accept(at: now)
            request.set(
                payload: Array("{}".utf8), deadline: now.advanced(by: .seconds(600)), isBusy: isBusy)
            return ("secret-\(number)", request)
        }
    }

    private func find(_ number: Int, in requests: OpenRequests) throws -> OpenRequest? {
        try requests.find(RequestName(of: "secret-\(number)"))
    }

    @Test(arguments: [false, true])
    func `a payment ends at its deadline and is removed a day later, unless a charge may have to be reversed`(
        isBusy: Bool
    ) async throws {
        let folder = Folder()
        let requests = try folder.open()
        try await add(1, isBusy: isBusy, to: requests)
        folder.advance(by: 599)
        try await requests.sweep()
        #expect(try find(1, in: requests)?.phase == .open)
        folder.advance(by: 1)
        try await requests.sweep()
        #expect(try find(1, in: requests)?.phase == (isBusy ? .open : .expired))
        // The payload has the attempts, and no secret any more.
        #expect(try find(1, in: requests)?.payload == Array("{}".utf8))
        folder.advance(by: 24 * 3600)
        try await requests.sweep()
        #expect(try (find(1, in: requests) != nil) == isBusy)
        await requests.close()
    }

    @Test func `a customer's newer request does not replace a payment whose charge may have to be reversed`()
        async throws
    {
        let folder = Folder()
        let requests = try folder.open()
        for number in 1...5 { try await add(number, isBusy: number <= 2, to: requests) }
        try await add(6, isBusy: false, to: requests)
        #expect(
            try (1...6).map { try find($0, in: requests) != nil } == [true, true, false, true, true, true])
        await requests.close()
    }

    @Test func `payments with an open charge are found after a restart`() async throws {
        let folder = Folder()
        let requests = try folder.open()
        for number in 1...3 { try await add(number, isBusy: number == 2, to: requests) }
        await requests.close()
        let restarted = try folder.open()
        #expect(try await restarted.busyPayments() == [RequestName(of: "secret-2")])
        try await restarted.update(RequestName(of: "secret-2")) { request, now in
            request?.set(payload: Array("{}".utf8), deadline: now, isBusy: false)
        }
        #expect(try await restarted.busyPayments() == [])
        await restarted.close()
    }

    @Test func `Apple's event ends a payment once, and keeps its payload for a day`() async throws {
        let folder = Folder()
        let requests = try folder.open()
        try await add(1, isBusy: false, to: requests)
        for event in ["m-1", "m-2"] {
            let claim = RequestClaim(.payment, identifier: "r-1", of: BusinessID("b"), CustomerID("c"))
            _ = try await requests.update(claim) { request, now in
                request?.endPayment(by: MessageID(event), at: now)
            }
        }
        let ended = try #require(try find(1, in: requests))
        #expect(ended.phase == .released && ended.releasedBy == MessageID("m-1"))
        #expect(ended.payload == Array("{}".utf8))
        #expect(ended.until == folder.now.advanced(by: .seconds(24 * 3600)))
        await requests.close()
    }
}
