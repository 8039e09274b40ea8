// A JSON text: what is accepted can be walked to its last value, and written and read again.
@testable import BalloonJSON

func count(_ value: JSONValue) -> Int {
    switch value.kind {
    case .object: value.members.reduce(1) { $0 + $1.key.utf8.count + count($1.value) }
    case .array: value.elements.reduce(1) { $0 + count($1) }
    default: 1 + (value.string?.count ?? 0)
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ length: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: length))
    guard let document = try? JSONDocument(bytes) else { return 0 }
    let values = count(document.root)
    precondition(values > 0 && document.root.text.count <= length)
    let again = try? JSONDocument(Array(document.root.text))
    precondition(again.map { count($0.root) } == values, "written output is not parsed to the same values")
    #if PLANTED
    precondition(document.root.kind != .array || values < 4, "planted")
    #endif
    return 0
}
