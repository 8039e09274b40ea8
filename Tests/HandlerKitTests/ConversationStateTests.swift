import BalloonJSON
import HandlerKit
import Testing

struct ConversationStateTests {
    private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    @Test func `an unmodified state has no change`() throws {
        let state = ConversationState(try JSONDocument(Array(#"{"step":"colour","n":1}"#.utf8)).root)
        #expect(state["step"] == "colour")
        #expect(state["n"] == nil)
        #expect(state["missing"] == nil)
        #expect(state.change == nil)
        #expect(ConversationState().isEmpty)
    }

    @Test func `replacing, adding and removing a member leaves the others unchanged`() throws {
        let state = ConversationState(try JSONDocument(Array(#"{"step":"colour","n":1.50}"#.utf8)).root)
        state["step"] = "size \"L\""
        state["name"] = "Ada"
        #expect(text(state.change) == #"{"n":1.50,"step":"size \"L\"","name":"Ada"}"#)
        #expect(state["step"] == "size \"L\"")
        state["step"] = nil
        state["name"] = nil
        #expect(text(state.change) == #"{"n":1.50}"#)
        #expect(state.json?["n"]?.double == 1.5)
    }

    @Test func `the change of a state that was emptied is null`() throws {
        let state = ConversationState(try JSONDocument(Array(#"{"step":"colour"}"#.utf8)).root)
        state["step"] = nil
        #expect(text(state.change) == "null")
        state["step"] = "again"
        state.clear()
        #expect(state.isEmpty)
        #expect(text(state.change) == "null")
    }

    @Test func `replacing the state removes the previous members`() throws {
        let state = ConversationState(try JSONDocument(Array(#"{"a":1}"#.utf8)).root)
        state.replace(with: try JSONDocument(Array(#"{"b":[1, 2]}"#.utf8)).root)
        #expect(text(state.change) == #"{"b":[1, 2]}"#)
    }
}
