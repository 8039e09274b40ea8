import BalloonJSON
import BusinessMessages
import Testing

struct UnsupportedMessageTests {
    private let needs: [(String, Capability)] = [
        ("quickReply", .quickReply), ("listPicker", .listPicker), ("timePicker", .timePicker),
        ("form", .form),
        ("authentication", .authentication2), ("authentication-classic", .authentication),
    ]

    private func message(_ name: String) throws -> OutboundMessage {
        try #require(outboundMessages.first { $0.name == name }?.message)
    }

    @Test func `a message that needs a missing capability is refused with a text to send instead`() throws {
        for (name, capability) in needs {
            let message = try message(name)
            try message.require([capability])
            let error = #expect(throws: UnsupportedMessage.self) { try message.require([]) }
            #expect(error?.missing == capability)
            #expect(error?.fallback.isEmpty == false)
            #expect(message.problems(for: [capability]) == [])
            #expect(message.problems(for: []).map(\.rule) == [.capability])
        }
    }

    @Test func `a message that every device can show is never refused`() throws {
        for (name, message) in outboundMessages where !needs.contains(where: { name.hasPrefix($0.0) }) {
            try message.require([])
            #expect(message.problems(for: []) == [], "\(name)")
        }
    }

    @Test func `the text to send instead of a message lists the choices`() throws {
        func fallback(_ name: String) throws -> String? {
            let message = try message(name)
            return #expect(throws: UnsupportedMessage.self) { try message.require([]) }?.fallback
        }
        #expect(try fallback("quickReply") == "Send it home?\n- Yes\n- No")
        #expect(
            try fallback("listPicker") == "Choose your basket\nPicked this morning\n- Apple\n- Pear\n- Rye")
        #expect(
            try fallback("timePicker")
                == "When shall we come?\n- 2026-07-10T17:00+0000\n- 2026-07-10T18:30:30+0000")
        #expect(try fallback("authentication") == "Lets Sign In")
    }
}
