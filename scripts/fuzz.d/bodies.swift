import MessageStore

// The bodies of the business API and of the control socket: each is read or refused with one problem, and a message that is read
// goes through all checks before it is sent. The time of each input is limited by libFuzzer.
@testable import BalloonJSON
@testable import BusinessMessages
@testable import MessageServer

func check(_ request: SendRequest) {
    do throws(SendRefusal) { _ = try request.outbound(id: .random(), for: [.listPicker]) } catch {
        precondition(error.reason.utf8.count < 1 << 20, "the reason is too long")
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ length: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: length))
    if let request = SendRequest(bytes) { check(request) }
    _ = ReplyRequest(bytes)
    _ = ErasureRequest(bytes)
    _ = AssignmentRequest(.claim, bytes)
    do throws(APIProblem) {
        let body = try SendingBody(bytes, namesCustomer: true)
        _ = try? body.invited
        precondition(body.attachmentIDs.count <= SendingBody.maximumAttachments)
    } catch {
        precondition((error.place?.pointer.utf8.count ?? 0) < 65_536, "the pointer is too long")
        #if PLANTED
            precondition(error.kind != .unknownMember, "planted")
        #endif
    }
    return 0
}
