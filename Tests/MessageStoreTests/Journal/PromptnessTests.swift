import BalloonJSON
import MessageStore
import Testing

/// Messages of which the writer is told later.
struct PromptnessTests {
    let directory = StoreDirectory()

    @Test func `what is not prompt is written when that begins, in one batch`() async throws {
        let store = try directory.open()
        let slots = (0..<5).map { _ in AnswerSlot() }
        for (number, slot) in slots.enumerated() {
            store.append(message("m\(number)"), isPrompt: false) { slot.set($0) }
        }
        #expect(try directory.segments().isEmpty)
        store.beginWriting()
        for slot in slots { #expect(await slot.answer() == .stored) }
        #expect(Set(try directory.records("message").map { $0["batch"]?.int }).count == 1)
        store.beginWriting()
        await store.close()
    }

    @Test func `what is prompt takes the others along`() async throws {
        let store = try directory.open()
        let slot = AnswerSlot()
        store.append(message("m1"), isPrompt: false) { slot.set($0) }
        #expect(await store.append(message("m2")) == .stored)
        #expect(await slot.answer() == .stored)
    }

    @Test func `so many do not wait to be begun`() async throws {
        let store = try directory.open()
        let slots = (0..<32).map { _ in AnswerSlot() }
        for (number, slot) in slots.enumerated() {
            store.append(message("m\(number)"), isPrompt: false) { slot.set($0) }
        }
        for slot in slots { #expect(await slot.answer() == .stored) }
    }

    @Test func `a store that closes writes what was not begun`() async throws {
        let store = try directory.open()
        let slot = AnswerSlot()
        store.append(message("m1"), isPrompt: false) { slot.set($0) }
        await store.close()
        #expect(await slot.answer() == .stored)
    }
}
