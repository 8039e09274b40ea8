/// Returns `count` bytes that repeat `first`, `first` + 1 and so on up to `period` values, beginning at the value with the
/// index `offset`.
///
/// Copies whole periods, because a debug build computes a second for a few million single bytes.
public func repeatingBytes(_ count: Int, period: UInt8, first: UInt8 = 0, from offset: Int = 0) -> [UInt8] {
    let values = (0..<period).map { first + $0 }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + values.count)
    bytes += values[(offset % values.count)...]
    while bytes.count < count { bytes += values }
    bytes.removeLast(bytes.count - count)
    return bytes
}
