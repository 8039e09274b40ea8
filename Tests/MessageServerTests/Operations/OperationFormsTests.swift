import MessageStore
import Testing

@testable import MessageServer

/// The results that commands read from the control socket, also those of another version of the server.
struct OperationFormsTests {
    @Test func `a report of trimming and one of a rebuild are written in this form, and read from it`() {
        var report = TrimReport()
        (report.rewritten, report.lines, report.isPostponed) = (12, 480, true)
        let json = #"{"rewritten":12,"removed":0,"lines":480,"deadLetters":0,"postponed":true}"#
        #expect(String(decoding: ControlOperations.trim.result.json(report), as: UTF8.self) == json)
        #expect(ControlOperations.trim.answer(Array(json.utf8)) == report)
        let rebuilt = #"{"restoredLines":2,"repairedConversations":1,"lostLines":0}"#
        let read = ControlOperations.rebuild.answer(Array(rebuilt.utf8))
        #expect(read?.restoredLines == 2)
        #expect(
            read.map { String(decoding: ControlOperations.rebuild.result.json($0), as: UTF8.self) } == rebuilt
        )
    }
}
