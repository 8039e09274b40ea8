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
        // The error tells nothing that the caller needs: the line is no message.
        guard let root = try? JSONDocument(withoutByteOrderMark(line)).root,
            root["jsonrpc"]?.equals("2.0") ?? false
        else { return nil }
        if let method = root["method"]?.string {
            let params = root["params"] ?? root
            self =
                root["id"].map { .request(id: $0, method: method, params: params) }
                ?? .notification(method: method, params: params)
        } else if let id = root["id"]?.int {
            let failure = root["error"].map { RPCMessage.failure(id: id, RPCFailure($0)) }
            guard let answer = failure ?? root["result"].map({ .result(id: id, $0) }) else { return nil }
            self = answer
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
        ///
        /// With `data.problems`, the handler built a message that breaks these rules: the answer is refused. An
        /// older server, which does not read them, makes the event a dead letter, too.
        package static let permanent = -32002
        /// The handler's configuration is wrong.
        package static let badConfiguration = -32003
        /// The handler is overloaded; `data.retryAfterMs` gives the delay before a retry.
        package static let busy = -32004
        /// A person answers the conversation, or the conversation waits for a person.
        package static let withPerson = -32005
        /// The customer has not agreed to the message; drop it, or name its purpose.
        package static let noConsent = -32006
        /// The method does not exist (JSON-RPC 2.0 §5.1).
        package static let unknownMethod = -32601
        /// The answer was not JSON (JSON-RPC 2.0 §5.1): the server's own error, like ``permanent`` with `data.problems`.
        package static let unparseable = -32700
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
        problems = AnswerRefusal(listedIn: error["data"])?.problems ?? []
    }

    /// Creates the error answer to an event whose handler built a message that breaks rules.
    package init(refusing refusal: AnswerRefusal) {
        self.init(code: Code.permanent, message: refusal.reason, problems: refusal.problems)
    }
}

extension AnswerRefusal {
    /// The maximum number of problems that are read from the other side.
    private static let maximumListed = 100

    /// Reads the member `problems` of an object; nil when it lists none.
    package init?(listedIn value: JSONValue?) {
        guard let listed = value?["problems"]?.elements.prefix(Self.maximumListed) else { return nil }
        let problems = listed.filter { $0.kind == .object }.map { Problem(listed: $0) }
        if problems.isEmpty { return nil }
        self.init(problems)
    }
}

extension AnswerRefusal.Problem {
    /// The rules of the protocol that are no ``MessageRule``, and that a library may find broken.
    private static let protocolRules: Set<String> = [
        "answerSize", "attachmentFile", "attachmentPath", "depth", "outcome", "replyCount", "stateSize",
    ]

    /// Reads a problem as the other side wrote it, with bounded texts.
    ///
    /// Rule and passage are logged, so they are never words of the other side, which may be a customer's: the name of
    /// an unknown rule becomes a part of `found`.
    fileprivate init(listed value: JSONValue) {
        func text(_ name: String, maximumBytes: Int) -> String {
            value[name]?.string.map { String(decoding: $0.utf8.prefix(maximumBytes), as: UTF8.self) } ?? ""
        }
        let name = text("rule", maximumBytes: 64)
        let found = text("found", maximumBytes: 256)
        let rule = MessageRule(rawValue: name)
        let isKnown = rule != nil || Self.protocolRules.contains(name)
        self.init(
            rule: isKnown ? name : "other", pointer: text("pointer", maximumBytes: 512),
            found: isKnown || name.isEmpty ? found : "\(name): \(found)",
            allowed: text("allowed", maximumBytes: 512), passage: rule?.passage ?? AnswerReading.passage)
    }
}

/// The bytes without the byte order mark before them, which some programs write (RFC 8259 §8.1 lets a reader ignore it).
package func withoutByteOrderMark(_ bytes: [UInt8]) -> [UInt8] {
    bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
}
