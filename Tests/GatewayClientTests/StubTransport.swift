import BalloonTransport
import Synchronization
import Testing

/// A transport that answers from a list and records the requests; a request beyond the list fails the test.
final class StubTransport: HTTPTransport {
    private struct State {
        var answers: [Result<TransportResponse, any Error>]
        var requests: [TransportRequest] = []
    }

    private let state: Mutex<State>

    init(_ answers: [Result<TransportResponse, any Error>]) { state = Mutex(State(answers: answers)) }

    var requests: [TransportRequest] { state.withLock { $0.requests } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        return try #require(answer, "unexpected request").get()
    }
}

extension Result<TransportResponse, any Error> {
    static func answer(
        _ status: Int, _ body: String = "", headers: [(name: String, value: String)] = []
    ) -> Self {
        .success(TransportResponse(status: status, headers: headers, body: Array(body.utf8)))
    }
}
