import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import HandlerBridges
import HandlerKit
import Logging
import MessageServer
import MessageStore
import Simulator
import Synchronization

/// The header fields of the newest 1,000 messages that the phone posted; signatures are masked.
final class PostedHeaders: Sendable {
    private static let maximumCount = 1000

    private struct State {
        var headers: [MessageID: [(name: String, value: String)]] = [:]
        var order = Deque<MessageID>()
    }

    private let state = Mutex(State())

    func add(_ headers: [(name: String, value: String)], of message: MessageID) {
        let masked = headers.map { (name: $0.name, value: maskedSignature(of: $0.value, in: $0.name)) }
        state.withLock { state in
            if state.headers.updateValue(masked, forKey: message) == nil { state.order.append(message) }
            if state.order.count > Self.maximumCount, let oldest = state.order.popFirst() {
                state.headers[oldest] = nil
            }
        }
    }

    subscript(message: MessageID) -> [(name: String, value: String)]? {
        state.withLock { $0.headers[message] }
    }
}

extension Phone: InspectorSimulator {
    func open(_ store: Store) { self.store.withLock { $0 = store } }

    func postedHeaders(of message: MessageID) -> [(name: String, value: String)]? { posted[message] }

    func exchanges(about message: MessageID) -> [[UInt8]] {
        gateway.exchanges(about: message).map { exchange in
            let headers = JSONText(JSONWriter.value { $0.write(exchange.headers) })
            return JSONWriter.object([
                "at": exchange.at.rfc3339, "status": exchange.status, "bytes": exchange.bytes,
                "ms": exchange.duration.map { ($0 / .microseconds(1)).rounded() / 1000 },
                "request": JSONObject(["headers": headers]),
                "response": exchange.response.isEmpty ? nil : exchange.response,
            ])
        }
    }

    /// The handler of a replay, as the options of `balloon dev` would bind it.
    func handler(_ to: JSONValue, for business: BusinessID) throws -> any Handler {
        let (binding, binder, environment) = try Self.binding(to)
        let slug = business.rawValue
        let request = HandlerBindingRequest(
            binding: try JSONDocument(binding).root, business: business, slug: slug, directory: ".",
            scratchDirectory: scratchDirectory, deadline: .seconds(30), maximumInFlight: 1,
            logger: Logger(label: "replay") { _ in SwiftLogNoOpLogHandler() })
        do {
            return binder == ExecBinder().name
                ? try ExecBinder().make(request) : try HTTPBinder(environment: environment).make(request)
        } catch let error as BindingError {
            throw InspectorProblem(.badRequest, "the handler is refused: \(error)", pointer: "/to")
        }
    }

    private static func binding(
        _ to: JSONValue
    ) throws(InspectorProblem) -> (json: [UInt8], binder: String, environment: [String: String]) {
        if let program = to["program"]?.string {
            let spawned = SpawnedProcess.Program([program], environment: [:], directory: ".")
            if let error = spawned.obstacle {
                throw InspectorProblem(
                    .unprocessableContent, "the program cannot be started: \(error)", pointer: "/to/program")
            }
            return (JSONWriter.object(["exec": [program]]), ExecBinder().name, [:])
        }
        guard let url = to["url"]?.string else {
            throw InspectorProblem("to has program, or url and secret", at: to)
        }
        // A service that checks no signature needs no secret.
        let secret = to["secret"]?.string ?? "whsec_" + Base64.encode(randomBytes(32))
        let json = JSONWriter.object([
            "http": JSONObject(["url": url, "secret": JSONObject(["env": "SECRET"])])
        ])
        return (json, HTTPBinder().name, ["SECRET": secret])
    }

    /// Posts a message once or several times, each with a new id, because the server ignores a repeated one.
    func replay(_ message: [UInt8], of customer: CustomerID, as request: JSONValue) async throws -> [UInt8] {
        let (_, customer) = try self.customer(customer.rawValue)
        let times = try request["times"]?.number(in: 1...100) ?? 1
        let levers = try PhoneLevers(request["levers"])
        var posts: [PhonePost] = []
        for _ in 0..<times {
            posts += try await posted([try customer.withNewID(message)], by: customer, levers)
        }
        return Self.json(of: posts)
    }
}
