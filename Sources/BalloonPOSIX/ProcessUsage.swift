import Glibc

/// The resources that this process uses, according to `/proc/self` (proc(5)).
package struct ProcessUsage: Sendable {
    /// The processor time of all threads, in seconds.
    package let cpuSeconds: Double
    /// The memory in RAM, in bytes.
    package let residentBytes: UInt64
    /// The address space, in bytes.
    package let virtualBytes: UInt64
    /// The number of threads.
    package let threadCount: UInt64
    /// The time of the process's start, in seconds since 1970, with a precision of one second.
    package let startedSecondsSince1970: UInt64
    /// The number of open descriptors.
    package let openFiles: Int
    /// The limit of open descriptors.
    package let maximumOpenFiles: Int

    /// Reads the current usage; nil when `/proc` is not mounted.
    package init?() {
        guard let status = ProcessRecord.text("/proc/self/stat"),
            let machine = ProcessRecord.text("/proc/stat"),
            let fields = status.split(separator: ")").last?.split(separator: " ").map(String.init),
            fields.count > 21, let user = UInt64(fields[11]), let system = UInt64(fields[12]),
            let threads = UInt64(fields[17]), let start = UInt64(fields[19]),
            let virtual = UInt64(fields[20]), let pages = UInt64(fields[21]),
            let boot = machine.split(separator: "\n").first(where: { $0.hasPrefix("btime ") }),
            let booted = UInt64(boot.dropFirst("btime ".count))
        else { return nil }
        let ticks = UInt64(clamping: max(1, sysconf(Int32(_SC_CLK_TCK))))
        cpuSeconds = Double(user &+ system) / Double(ticks)
        residentBytes =
            pages.multipliedReportingOverflow(by: UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))).partialValue
        virtualBytes = virtual
        threadCount = threads
        startedSecondsSince1970 = booted &+ start / ticks
        // If /proc/self/fd is unreadable, the count is unknown and reported as 0.
        openFiles = (try? Directory.names(in: "/proc/self/fd").count) ?? 0
        maximumOpenFiles = OpenFileLimit.current
    }
}
