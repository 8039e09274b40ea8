import BalloonJSON
import HandlerKit
import HandlerProtocol
import TestSupport
import Testing

struct StateTests {
    private func context(_ state: String? = nil) throws -> Context {
        Context(
            event: .decode(
                message: try JSONDocument(Array(#"{"type":"text","body":"Hi"}"#.utf8)), id: MessageID("m"),
                business: BusinessID("b"), customer: CustomerID("urn:mbid:c")),
            state: ConversationState(try state.map { try JSONDocument(Array($0.utf8)).root }),
            deliveryID: DeliveryID("1"), deadline: .now + .seconds(1), logger: LogCollector().logger)
    }

    @Test func `a state is sent to the handler, and its answer contains the changed state`() throws {
        let params = try written { EventCall.write(try context(#"{"n":1,"step":"a"}"#), to: &$0) }
        let read = try EventCall.context(params, logger: LogCollector().logger) { _ in [] }
        #expect(read.state["step"] == "a")
        read.state["step"] = "b"
        let result = try written { EventAnswer.write(.reply("Hi"), to: read, &$0) }
        let server = ConversationState()
        _ = try EventAnswer.outcome(result, changing: server)
        #expect(server.change.map { String(decoding: $0, as: UTF8.self) } == #"{"n":1,"step":"b"}"#)
    }

    @Test func `an answer without a state leaves the state unchanged`() throws {
        let state = ConversationState()
        _ = try EventAnswer.outcome(
            try written { EventAnswer.write(.handled, to: try context(), &$0) }, changing: state)
        #expect(state.change == nil)
        #expect(try written { EventCall.write(try context(), to: &$0) }["state"]?.count == 0)
    }

    @Test func `a state over the limit is refused`() throws {
        for (bytes, rule) in [
            (ConversationState.maximumBytes, nil), (ConversationState.maximumBytes + 1, "stateSize"),
        ] {
            let text = String(repeating: "x", count: bytes - #"{"a":""}"#.utf8.count)
            let result = try JSONDocument(Array(#"{"state":{"a":"\#(text)"}}"#.utf8)).root
            if let rule {
                let refusal = #expect(throws: AnswerRefusal.self) {
                    try EventAnswer.outcome(result, changing: ConversationState())
                }
                #expect(refusal?.problems.map(\.rule) == [rule])
            } else {
                #expect(throws: Never.self) { try EventAnswer.outcome(result, changing: ConversationState()) }
            }
        }
    }
}
