import BalloonTransport
import Synchronization
import Testing

@testable import HandlerBridges

/// The transports of calls that charge: a full one makes no call wait.
struct ChargeTransportsTests {
    private struct Silent: HTTPTransport {
        func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
            throw .connectionFailed
        }
    }

    @Test func `a call that finds a transport full gets another, and a free one is used again`()
        async throws
    {
        let count = Mutex(0)
        let transports = ChargeTransports {
            count.withLock { $0 += 1 }
            return Silent()
        }
        func hold(_ number: Int) async throws {
            if number == 0 { return }
            try await transports.withTransport { _ in try await hold(number - 1) }
        }
        try await hold(250)
        #expect(count.withLock(\.self) == 1)
        try await hold(251)
        #expect(count.withLock(\.self) == 2)
        try await hold(500)
        #expect(count.withLock(\.self) == 2)
    }
}
