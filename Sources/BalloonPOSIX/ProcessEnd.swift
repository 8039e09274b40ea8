import Glibc

/// The end of this process.
package enum ProcessEnd {
    /// The exit status for a wrong configuration (`EX_CONFIG` of `sysexits.h`).
    package static let configuration: Int32 = 78

    /// The exit status when something required is unavailable (`EX_UNAVAILABLE`).
    package static let unavailable: Int32 = 69

    /// The exit status for a temporary failure, after which a restart may help (`EX_TEMPFAIL`).
    package static let temporaryFailure: Int32 = 75

    /// Ends the process normally: runs the exit functions that libraries registered, which may block.
    package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// Ends the process at once, without exit functions or flushing, so that nothing can delay it.
    package static func exitAtOnce(_ status: Int32) -> Never { Glibc._exit(status) }
}
