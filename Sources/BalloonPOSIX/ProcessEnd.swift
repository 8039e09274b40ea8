import Glibc

/// The end of this process.
package enum ProcessEnd {
    /// Something in the configuration is wrong (`EX_CONFIG` of `sysexits.h`).
    package static let configuration: Int32 = 78

    /// Something that it needs cannot be had (`EX_UNAVAILABLE`).
    package static let unavailable: Int32 = 69

    /// Something outside is not there now (`EX_TEMPFAIL`).
    package static let temporaryFailure: Int32 = 75

    /// Ends the process in order: what libraries registered for its end is run, and may wait.
    package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// Ends the process at once: nothing is run or written any more, so that nothing can hold it up.
    package static func exitAtOnce(_ status: Int32) -> Never { Glibc._exit(status) }
}
