import Glibc

/// The end of this process.
package enum ProcessEnd {
    /// The exit status for a wrong configuration (`EX_CONFIG` of `sysexits.h`).
    package static let configuration: Int32 = 78

    /// The exit status when something required is unavailable (`EX_UNAVAILABLE`).
    package static let unavailable: Int32 = 69

    /// The exit status for a failure that may pass, so that a restart may help (`EX_TEMPFAIL`).
    package static let temporaryFailure: Int32 = 75

    /// Ends the process in order, running the exit functions that libraries registered; these may block.
    package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// Ends the process at once, without exit functions or flushing, so that nothing can delay it.
    package static func exitAtOnce(_ status: Int32) -> Never { Glibc._exit(status) }
}
