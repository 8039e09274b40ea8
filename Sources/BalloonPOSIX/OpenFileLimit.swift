import CLinux
import Glibc

/// The number of descriptors that the process may have open.
package enum OpenFileLimit {
    /// Raises the soft limit to the hard one; returns the limit that holds afterwards.
    @discardableResult
    package static func raise() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        var raised = limit
        raised.rlim_cur = raised.rlim_max
        let isRaised = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0
        return Int(clamping: isRaised ? raised.rlim_cur : limit.rlim_cur)
    }
}
