// A business's message: its problems are few and short, a message without an error is read and written, and the written one is
// sound too. The input is also tried as a regular expression. The time of each input is limited by libFuzzer.
@testable import BalloonJSON
@testable import BusinessMessages

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ length: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: length))
    let text = String(decoding: bytes, as: UTF8.self)
    if let expression = RegularExpression(text) {
        _ = expression.matchesWhole(text)
        _ = expression.occurs(in: "Aa1\n")
    }
    let problems = OutboundMessage.problems(inJSON: bytes, for: [.form], now: 0)
    precondition(problems.count <= 100, "the list of problems has no bound")
    for problem in problems { precondition(problem.description.utf8.count < 8192, "a problem is too long") }
    guard let document = try? JSONDocument(bytes) else { return 0 }
    guard let message = try? OutboundMessage(json: document) else {
        precondition(
            OutboundMessage.problems(inJSON: bytes).hasErrors, "a message without an error is refused")
        return 0
    }
    let written = message.encode(id: .random(), from: BusinessID("b"), to: CustomerID("urn:mbid:c"))
    precondition((try? JSONDocument(written)) != nil, "the written message is no JSON")
    _ = try? message.require([])
    #if PLANTED
        precondition(!problems.contains { $0.rule == .unknownMember }, "planted")
    #endif
    return 0
}
