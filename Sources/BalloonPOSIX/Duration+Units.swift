package import Dispatch

extension Duration {
    /// The duration in whole nanoseconds, clamped to 64 bits: 292 years in either direction.
    package var wholeNanoseconds: Int {
        let (seconds, attoseconds) = components
        let (product, overflows) = Int(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carries) = product.addingReportingOverflow(Int(attoseconds / 1_000_000_000))
        return overflows || carries ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in whole milliseconds, rounded toward zero.
    package var wholeMilliseconds: Int { wholeNanoseconds / 1_000_000 }

    /// This duration as an interval of Dispatch.
    package var dispatchInterval: DispatchTimeInterval { .nanoseconds(wholeNanoseconds) }
}
