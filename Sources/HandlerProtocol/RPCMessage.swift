package import BalloonJSON
package import HandlerKit

/// A message of JSON-RPC 2.0, which is one protocol line.
package enum RPCMessage: Sendable {
    /// A call that must be answered; the answer repeats its id unchanged.
    case request(id: JSONValue, method: String, params: JSONValue)
    /// A call without an answer.
    case notification(method: String, params: JSONValue)
    /// The successful answer to the call with this number, which this side made.
    case result(id: Int, JSONValue)
    /// The error answer to the call with this number, which this side made.
    case failure(id: Int, RPCFailure)

    /// Parses a line without its line feed; nil when the line is not a JSON-RPC message.
    package init?(line: [UInt8]) {
        guard let root = try? JSONDocument(line).root, root["jsonrpc"]?.string == "2.0" else { return nil }
        if let method = root["method"]?.string {
            let params = root["params"] ?? root
            self =
                root["id"].map { .request(id: $0, method: method, params: params) }
                ?? .notification(method: method, params: params)
        } else if let id = root["id"]?.int {
            if let error = root["error"] {
                self = .failure(id: id, RPCFailure(error))
            } else if let result = root["result"] {
                self = .result(id: id, result)
            } else {
                return nil
            }
        } else {
            return nil
        }
    }
}

/// The error answer to a call.
package struct RPCFailure: Error, Hashable, Sendable {
    /// The error codes with a defined meaning; all others are treated like ``retryable``.
    package enum Code {
        /// The call may succeed later.
        package static let retryable = -32001
        /// The call will never succeed.
        package static let permanent = -32002
        /// The handler's configuration is wrong.
        package static let badConfiguration = -32003
        /// The handler is overloaded; `data.retryAfterMs` gives the delay before a retry.
        package static let busy = -32004
        /// A person answers the conversation, or the conversation waits for a person.
        package static let withPerson = -32005
        /// The method does not exist (JSON-RPC 2.0 §5.1).
        package static let unknownMethod = -32601
        /// The parameters are wrong (JSON-RPC 2.0 §5.1).
        package static let invalidParameters = -32602
    }

    /// The error code.
    package let code: Int
    /// The text that the other side gave for the error.
    package let message: String
    /// The requested delay before a retry, if any.
    package let retryAfter: Duration?

    /// The rules that a refused message broke, from `data.problems`.
    package let problems: [AnswerRefusal.Problem]

    /// Creates an error answer.
    package init(
        code: Int, message: String, retryAfter: Duration? = nil, problems: [AnswerRefusal.Problem] = []
    ) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.problems = problems
    }

    init(_ error: JSONValue) {
        code = error["code"]?.int ?? Code.retryable
        message = error["message"]?.string ?? ""
        retryAfter = error["data"]?["retryAfterMs"]?.int.map { .milliseconds(max(0, $0)) }
        problems = (error["data"]?["problems"]).map { $0.elements.map(AnswerRefusal.Problem.init) } ?? []
    }
}

extension AnswerRefusal.Problem {
    fileprivate init(_ value: JSONValue) {
        func text(_ name: String) -> String { value[name]?.string ?? "" }
        self.init(
            rule: text("rule"), pointer: text("pointer"), found: text("found"), allowed: text("allowed"),
            passage: text("passage"))
    }
}
