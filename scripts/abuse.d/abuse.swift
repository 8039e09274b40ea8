// Attacks a server on this machine in several ways, and probes meanwhile whether it still answers.
// Arguments: PORT PID TOKEN BUSINESS GZIP-BOMB. Prints a line for each attack, and exits with 1 when a limit is missed.
import Glibc

let port = UInt16(CommandLine.arguments[1])!
let server = CommandLine.arguments[2]
let token = CommandLine.arguments[3]
let business = CommandLine.arguments[4]
let bomb = contents(of: CommandLine.arguments[5])
var isEverythingFine = true

func contents(of path: String) -> [UInt8] {
    let file = open(path, O_RDONLY)
    defer { close(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 20)
    while true {
        let count = read(file, &piece, piece.count)
        if count <= 0 { return bytes }
        bytes += piece[..<count]
    }
}

func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The kernel's data of the server: resident KiB, open descriptors, processor time in ticks.
struct Usage {
    var residentKiB = 0
    var descriptors = 0
    var ticks = 0

    init() {
        let status = String(decoding: contents(of: "/proc/\(server)/status"), as: UTF8.self)
        for line in status.split(separator: "\n") where line.hasPrefix("VmRSS:") {
            residentKiB = Int(line.split(separator: " ").dropLast().last ?? "") ?? 0
        }
        if let folder = opendir("/proc/\(server)/fd") {
            while readdir(folder) != nil { descriptors += 1 }
            closedir(folder)
        }
        let stat = String(decoding: contents(of: "/proc/\(server)/stat"), as: UTF8.self)
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        if fields.count > 13 { ticks = (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0) }
    }
}

/// A client's socket, blocking by default.
final class Client {
    let raw: Int32

    init?(isBlocking: Bool = true) {
        raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard raw >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var wait = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        var one: Int32 = 1
        setsockopt(raw, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { return nil }
        if !isBlocking { _ = fcntl(raw, F_SETFL, O_NONBLOCK) }
    }

    deinit { close(raw) }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Int { Glibc.send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    @discardableResult
    func send(_ text: String) -> Int { send(Array(text.utf8)) }

    /// The bytes of one read as text; nil at the end, or after a timeout.
    func receive() -> String? {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = recv(raw, &bytes, bytes.count, 0)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}

let probeRequest = Array("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
let postHead = "POST /message HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token)\r\ndestination-id: \(business)\r\n"

/// Sends a request on a new connection; returns the time to the answer in milliseconds, nil without an answer.
func probe(_ client: Client) -> Double? {
    let start = nanoseconds()
    client.send(probeRequest)
    guard let answer = client.receive(), answer.hasPrefix("HTTP/1.1 200 ") else { return nil }
    return Double(nanoseconds() - start) / 1e6
}

func millisecond(_ value: Double) -> String { String(Int(value * 100)).paddedHundredths }

extension String {
    /// `123` as `1.23`.
    var paddedHundredths: String {
        let digits = String(repeating: "0", count: Swift.max(0, 3 - count)) + self
        return digits.dropLast(2) + "." + digits.suffix(2)
    }

    func padded(_ width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }
}

/// Repeats `attack` for some seconds with probes in between, then closes its connections.
func measure(
    _ name: String, seconds: Double = 4, maximumGrowthKiB: Int = 65536, perConnection: Bool = false,
    hold: () -> [Client], attack: (inout [Client]) -> Void
) {
    guard let prober = Client(), probe(prober) != nil else { return fail(name, "no answer before it began") }
    let before = Usage()
    var clients = hold()
    let held = clients.count
    var times: [Double] = []
    var missed = 0
    var peak = Usage().residentKiB
    let end = nanoseconds() + UInt64(seconds * 1e9)
    while nanoseconds() < end || times.count < 20 {
        attack(&clients)
        if let time = probe(prober) { times.append(time) } else { missed += 1 }
        peak = max(peak, Usage().residentKiB)
        if missed > 3 { break }
    }
    clients = []
    let after = returned(to: before)
    times.sort()
    let median = times.isEmpty ? .infinity : times[times.count / 2]
    let high = times.isEmpty ? .infinity : times[times.count * 99 / 100]
    let growth = peak - before.residentKiB
    print(
        name.padded(34), "probe \(millisecond(median)) ms, 99 % \(millisecond(high)) ms".padded(36),
        "memory +\(growth) KiB".padded(20), "descriptors \(before.descriptors) -> \(after.descriptors)")
    if missed > 0 { fail(name, "\(missed) probes were not answered") }
    if median >= 10 { fail(name, "the probe took 10 ms or more at the median") }
    if growth > maximumGrowthKiB { fail(name, "memory grew by more than \(maximumGrowthKiB) KiB") }
    if after.descriptors > before.descriptors { fail(name, "descriptors did not return") }
    if perConnection {
        let bytes = growth * 1024 / max(1, held)
        print("".padded(34), "\(held) connections, \(bytes) bytes of resident memory each")
        if held < 10_000 { fail(name, "only \(held) connections could be opened") }
        if bytes > 4096 { fail(name, "a connection took more than 4096 bytes") }
    }
}

/// Waits at most five seconds until the server holds no more descriptors than before.
func returned(to before: Usage) -> Usage {
    let end = nanoseconds() + 5_000_000_000
    var now = Usage()
    while now.descriptors > before.descriptors, nanoseconds() < end {
        usleep(20_000)
        now = Usage()
    }
    return now
}

func fail(_ name: String, _ reason: String) {
    isEverythingFine = false
    print("MISSED".padded(34), "\(name): \(reason)")
}

func open(_ count: Int, isBlocking: Bool = true, _ greeting: String = "") -> [Client] {
    var clients: [Client] = []
    for _ in 0..<count {
        guard let client = Client(isBlocking: isBlocking) else { break }
        if !greeting.isEmpty { client.send(greeting) }
        clients.append(client)
    }
    return clients
}

var random = SystemRandomNumberGenerator()
let letter = [UInt8](repeating: 0x61, count: 1)

measure("10,000 idle connections", perConnection: true) {
    let clients = open(10_050, String(decoding: probeRequest, as: UTF8.self))
    for client in clients { _ = client.receive() }
    return clients
} attack: { _ in
}

measure("2,000 slow headers") {
    open(2000, isBlocking: false, "GET /livez HTTP/1.1\r\nX: ")
} attack: { clients in
    for _ in 0..<200 { clients.randomElement()?.send(letter) }
}

measure("2,000 slow bodies") {
    open(2000, isBlocking: false, postHead + "Content-Length: 100000\r\n\r\n")
} attack: { clients in
    for _ in 0..<200 { clients.randomElement()?.send(letter) }
}

measure("2,000 slow chunked bodies") {
    open(2000, isBlocking: false, postHead + "Transfer-Encoding: chunked\r\n\r\nffff;a=")
} attack: { clients in
    for _ in 0..<200 { clients.randomElement()?.send(letter) }
}

let pipeline = Array(repeatElement(probeRequest, count: 500).joined())
measure("200 pipeliners that never read") {
    open(200, isBlocking: false)
} attack: { clients in
    for client in clients { client.send(pipeline) }
}

let megabyte = [UInt8](repeating: 0x61, count: 1 << 20)
measure("200 large bodies that do not end") {
    open(200, isBlocking: false, postHead + "Content-Length: 10000000\r\n\r\n")
} attack: { clients in
    for client in clients { client.send(megabyte) }
}

measure("half-closed connections") {
    []
} attack: { _ in
    for client in open(50, "GET /livez HTTP/1.1\r\nHo") { shutdown(client.raw, Int32(SHUT_WR)) }
}

measure("reset connections") {
    []
} attack: { _ in
    for text in ["", "GET", postHead + "Content-Length: 10\r\n\r\nx", String(decoding: pipeline, as: UTF8.self)] {
        for client in open(10, text) { client.reset() }
    }
}

measure("garbage") {
    []
} attack: { _ in
    for client in open(20) {
        client.send((0..<1000).map { _ in UInt8.random(in: 0...255, using: &random) })
        _ = client.receive()
    }
}

measure("bodies of 1 GiB when inflated") {
    []
} attack: { _ in
    guard let client = Client() else { return }
    client.send(postHead + "Content-Encoding: gzip\r\nid: x\r\nsource-id: y\r\nContent-Length: \(bomb.count)\r\n\r\n")
    client.send(bomb)
    let answer = client.receive() ?? "nothing"
    if !answer.hasPrefix("HTTP/1.1 413 ") { fail("a body of 1 GiB when inflated", "was answered \(answer.prefix(40))") }
}

exit(isEverythingFine ? 0 : 1)
