// The answers of handlers: each is read or refused with few and short problems. The time of each input is limited by libFuzzer.
@testable import BalloonJSON
@testable import BusinessMessages
@testable import HandlerKit
@testable import HandlerProtocol

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ length: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: length))
    _ = RPCMessage(line: bytes)
    guard let result = (try? JSONDocument(bytes))?.root else { return 0 }
    do throws(AnswerRefusal) {
        let outcome = try EventAnswer.outcome(result, allowingFiles: true)
        for reply in outcome.replies where !reply.hasFiles {
            _ = AnswerRefusal(reply.problems(), at: "/replies")
        }
    } catch {
        precondition((1...100).contains(error.problems.count), "the list of problems has no bound")
        precondition(error.explanation.utf8.count < 1 << 20, "the problems are too long")
        #if PLANTED
            precondition(!error.problems.contains { $0.rule == "unknownMember" }, "planted")
        #endif
    }
    do throws(AnswerRefusal) { _ = try RetentionCall.choice(result) } catch {
        precondition((1...100).contains(error.problems.count), "the list of problems has no bound")
    }
    return 0
}
