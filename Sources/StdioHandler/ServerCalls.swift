import BalloonJSON
import HandlerProtocol
import Synchronization

/// The handler's pending calls to the server, with the tasks that wait for the answers.
final class ServerCalls: Sendable {
    typealias Answer = Result<JSONValue, RPCFailure>

    private struct State {
        var waiting: [Int: CheckedContinuation<Answer, Never>] = [:]
        var nextID = 1
        var isClosed = false
    }

    private let output: Output
    private let state = Mutex(State())
    private static let closed = Answer.failure(
        RPCFailure(code: RPCFailure.Code.retryable, message: "the server closed the connection"))

    init(_ output: Output) { self.output = output }

    /// Makes a call and waits for its answer.
    func call(_ method: String, _ params: (inout JSONWriter) -> Void) async -> Answer {
        await withCheckedContinuation { continuation in
            let id = state.withLock { state -> Int? in
                guard !state.isClosed else { return nil }
                defer { state.nextID += 1 }
                state.waiting[state.nextID] = continuation
                return state.nextID
            }
            guard let id else { return continuation.resume(returning: Self.closed) }
            output.write(RPCLine.request(id: id, method: method, params))
        }
    }

    /// Resumes the caller of call `id` with the answer.
    func settle(_ id: Int, _ answer: Answer) {
        state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(returning: answer)
    }

    /// Fails all open calls, and all later ones.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for waiter in waiting { waiter.resume(returning: Self.closed) }
    }
}
