// A gzip body: never more than the maximum, and the same from a decompressor that was used before.
@testable import BalloonWire

let used = GzipDecompressor()

func outcome(_ decompressor: GzipDecompressor, _ bytes: [UInt8]) -> [UInt8]? {
    var inflated: [UInt8] = []
    do {
        try decompressor.decompress(bytes, into: &inflated, maximumBytes: 10_000, maximumRatio: 100)
    } catch {
        return nil
    }
    return inflated
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let inflated = outcome(used, bytes)
    precondition(inflated == outcome(GzipDecompressor(), bytes), "an earlier input changed the result")
    precondition(inflated?.count ?? 0 <= 10_000)
    #if PLANTED
    // The compressor sets this byte to 2; decompressors ignore it.
    precondition(inflated == nil || bytes[8] == 2, "planted")
    #endif
    return 0
}
