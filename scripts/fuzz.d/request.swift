// A request's header, whole and split where its first byte says: one result, and offsets that lie inside it.
@testable import BalloonHTTP

func outcome(_ bytes: [UInt8], _ ends: [Int]) -> (head: RequestHead?, refusal: HTTPRefusal?) {
    var parser = RequestParser()
    do throws(HTTPRefusal) {
        for end in ends where try parser.parse(bytes, from: 0, to: end, HTTPLimits()) {
            return (parser.head, nil)
        }
    } catch {
        return (nil, error)
    }
    return (nil, nil)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 1 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    let split = Int(start[0]) % bytes.count
    let whole = outcome(bytes, [bytes.count])
    let parts = outcome(bytes, [split, bytes.count])
    precondition(whole.head == parts.head && whole.refusal == parts.refusal, "the split changed the result")
    guard let head = whole.head else { return 0 }
    precondition(head.length <= bytes.count && Int(head.path.upperBound) <= head.length)
    for field in head.fields { precondition(Int(field.valueEnd) <= head.length) }
    #if PLANTED
    precondition(head.fields.count < 2, "planted")
    #endif
    return 0
}
