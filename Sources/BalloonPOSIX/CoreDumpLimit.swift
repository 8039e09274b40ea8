import CLinux
import Glibc

/// The size limit of core dumps; a core dump contains the memory of a crashed process.
package enum CoreDumpLimit {
    /// Forbids core dumps of this process and of the programs that it starts.
    package static func forbid() throws(SystemError) {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        // Sound: the call reads the given value.
        _ = try uninterrupted("setrlimit") {
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        }
    }

    /// Whether core dumps are forbidden.
    package static var isForbidden: Bool {
        var limit = rlimit()
        // Sound: the call fills the given value.
        return unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 && limit.rlim_cur == 0
    }
}
