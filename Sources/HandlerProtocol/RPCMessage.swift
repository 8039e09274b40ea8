package import BalloonJSON

/// One line: a message of JSON-RPC 2.0.
package enum RPCMessage: Sendable {
    /// A call that must be answered; its id is given back as it came.
    case request(id: JSONValue, method: String, params: JSONValue)
    /// A call that is not answered.
    case notification(method: String, params: JSONValue)
    /// The answer to our call of that number.
    case result(id: Int, JSONValue)
    /// The refusal of our call of that number.
    case failure(id: Int, RPCFailure)

    /// Reads a line without its line feed; nil when it is not a message, but noise.
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

/// Why a call was refused.
package struct RPCFailure: Error, Hashable, Sendable {
    /// Numbers with a meaning; all others mean ``retryable``.
    package enum Code {
        /// It may go better later.
        package static let retryable = -32001
        /// It will never go better.
        package static let permanent = -32002
        /// The configuration is wrong.
        package static let badConfiguration = -32003
        /// There is too much to do; `data.retryAfterMs` says when to come back.
        package static let busy = -32004
        /// There is no such method (JSON-RPC 2.0 §5.1).
        package static let unknownMethod = -32601
        /// The parameters are wrong (JSON-RPC 2.0 §5.1).
        package static let invalidParameters = -32602
    }

    /// The number.
    package let code: Int
    /// The other side's words.
    package let message: String
    /// When to come back, if it says so.
    package let retryAfter: Duration?

    /// Makes a refusal.
    package init(code: Int, message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    init(_ error: JSONValue) {
        code = error["code"]?.int ?? Code.retryable
        message = error["message"]?.string ?? ""
        retryAfter = error["data"]?["retryAfterMs"]?.int.map { .milliseconds(max(0, $0)) }
    }
}
