import BalloonJSON
import MessageStore
import Testing

/// Messages for which the writer is woken later.
struct PromptnessTests {
    let directory = StoreDirectory()

    @Test func `messages appended with isPrompt false are written in one batch by beginWriting`() async throws
    {
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

    @Test func `a message appended with isPrompt true is written in one batch with the messages that wait`()
        async throws
    {
        let store = try directory.open()
        let slot = AnswerSlot()
        store.append(message("m1"), isPrompt: false) { slot.set($0) }
        #expect(await store.append(message("m2")) == .stored)
        #expect(await slot.answer() == .stored)
    }

    @Test func `a full batch is written without a call of beginWriting`() async throws {
        let store = try directory.open()
        let slots = (0..<32).map { _ in AnswerSlot() }
        for (number, slot) in slots.enumerated() {
            store.append(message("m\(number)"), isPrompt: false) { slot.set($0) }
        }
        for slot in slots { #expect(await slot.answer() == .stored) }
    }

    @Test func `a closing store writes the waiting messages`() async throws {
        let store = try directory.open()
        let slot = AnswerSlot()
        store.append(message("m1"), isPrompt: false) { slot.set($0) }
        await store.close()
        #expect(await slot.answer() == .stored)
    }
}
