package import Dispatch

extension Duration {
    /// Whole nanoseconds; at most and at least what 64 bits hold, which is 292 years.
    package var wholeNanoseconds: Int {
        let (seconds, attoseconds) = components
        let (product, overflows) = Int(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carries) = product.addingReportingOverflow(Int(attoseconds / 1_000_000_000))
        return overflows || carries ? (seconds < 0 ? .min : .max) : sum
    }

    /// Whole milliseconds, rounded toward zero.
    package var wholeMilliseconds: Int { wholeNanoseconds / 1_000_000 }

    /// The same time for Dispatch.
    package var dispatchInterval: DispatchTimeInterval { .nanoseconds(wholeNanoseconds) }
}
