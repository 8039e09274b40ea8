package import HandlerKit
package import Logging

/// The call `retention`: its parameters, which are also the body of the request to an HTTP handler, and its answer.
///
/// ```json
/// {"app": "shop", "deadlineMs": 440, "retention": {"originalTransactionId": "…", "productId": "…", "userLocale": "en-US",
///  "requestIdentifier": "…", "environment": "Production", "signedDate": 1790000000000, "appAppleId": 1234567890}}
/// {"message": "stay"}
/// ```
/// The answer is a `RetentionChoice`; `null` or an empty object leaves the decision to the app's rule file.
package enum RetentionCall {
    /// Writes the members of the `params` of `retention`.
    package static func write(
        _ request: RetentionRequest, _ context: RetentionContext, to writer: inout JSONWriter
    ) {
        writer.field("app", context.app)
        writer.field("deadlineMs", max(0, (context.deadline - .now).milliseconds))
        writer.raw("retention", request.json)
    }

    /// Parses the `params` of `retention`.
    package static func read(
        _ params: JSONValue, logger: Logger
    ) throws(HandlerProtocolError) -> (request: RetentionRequest, context: RetentionContext) {
        guard let app = params["app"]?.string else { throw .malformed("app") }
        guard let milliseconds = params["deadlineMs"]?.int, (0...60_000).contains(milliseconds) else {
            throw .malformed("deadlineMs")
        }
        guard let claims = params["retention"], let request = try? RetentionRequest(claims: claims) else {
            throw .malformed("retention")
        }
        let context = RetentionContext(
            app: app, deadline: .now + .milliseconds(milliseconds), logger: logger)
        return (request, context)
    }

    /// Parses the answer; a single `AnswerRefusal` lists all problems.
    package static func choice(_ result: JSONValue) throws(AnswerRefusal) -> RetentionChoice? {
        if result.isNull || (result.kind == .object && result.count == 0) { return nil }
        let (choice, problems) = RetentionChoice.read(result)
        guard problems.isEmpty else {
            throw AnswerRefusal(problems.map { Self.problem($0, base: result.pointer) })
        }
        return choice
    }

    private static func problem(_ problem: RetentionProblem, base: String) -> AnswerRefusal.Problem {
        AnswerRefusal.Problem(
            rule: problem.rule.rawValue, pointer: String(problem.pointer.dropFirst(base.count)),
            found: problem.found, allowed: problem.allowed, passage: problem.rule.passage)
    }

    /// Returns the answer as JSON.
    package static func json(_ choice: RetentionChoice?) -> [UInt8] { choice?.json ?? Array("{}".utf8) }
}
