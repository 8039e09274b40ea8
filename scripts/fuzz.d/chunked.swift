// A chunked body, whole and byte by byte: one result, and never more content than was sent or allowed.
@testable import BalloonHTTP

func outcome(_ bytes: [UInt8], step: Int) -> (body: [UInt8], isFinished: Bool, isRefused: Bool) {
    var decoder = ChunkedDecoder()
    var body: [UInt8] = []
    var cursor = 0
    var end = 0
    while end < bytes.count, !decoder.isFinished {
        end = min(end + step, bytes.count)
        do {
            try decoder.decode(bytes, &cursor, to: end, into: &body, maximumBytes: 1000)
        } catch {
            return ([], false, true)
        }
    }
    return (body, decoder.isFinished, false)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let whole = outcome(bytes, step: bytes.count)
    precondition(whole == outcome(bytes, step: 1), "the split changed the result")
    precondition(whole.body.count <= min(1000, bytes.count))
    #if PLANTED
    precondition(!whole.isFinished || whole.body.count < 4, "planted")
    #endif
    return 0
}
