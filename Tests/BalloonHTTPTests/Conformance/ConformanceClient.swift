import Glibc

/// Runs the client of a case against the server at an IPv4 address, with a new connection for each case.
struct ConformanceClient: Sendable {
    let host: String
    let port: UInt16
    /// The silence after which a server counts as waiting.
    var patienceMilliseconds = 5000

    /// The observed reaction of a server.
    struct Observation: Sendable {
        var outcome: ConformanceCase.Outcome
        /// The headers of all answers, as received.
        var headers: [String] = []
        /// Whether the connection was reset.
        var isReset = false
    }

    /// The content of the answer to a final request, which follows a case's bytes to test whether the
    /// connection persists.
    static let next = "next\n"
    private static let nextRequest = Array(
        "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)

    /// Sends the case's bytes, followed by the final request unless the case ends inside a request.
    ///
    /// Sends two writes when `split` is given. Nil when the connection was refused.
    func play(_ item: ConformanceCase, split: Int? = nil) -> Observation? {
        let isPartial = item.outcomes[0].end == .wait
        guard let raw = connected() else { return nil }
        defer { close(raw) }
        let bytes = isPartial ? item.bytes : item.bytes + Self.nextRequest
        var isReset = false
        if let split, split > 0, split < bytes.count {
            send(raw, bytes[..<split])
            send(raw, bytes[split...])
        } else {
            send(raw, bytes[...])
        }
        if isPartial { shutdown(raw, Int32(SHUT_WR)) }
        let (received, end) = receive(raw, &isReset)
        var observation = Self.observation(of: received[...], isPartial: isPartial)
        // A silent server with an open connection is waiting.
        if end == .wait, observation.outcome.end != .open {
            observation.outcome = ConformanceCase.Outcome(
                answers: observation.outcome.answers, end: .wait)
        }
        observation.isReset = isReset
        return observation
    }

    private func connected() -> Int32? {
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard raw >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        var wait = timeval(
            tv_sec: patienceMilliseconds / 1000, tv_usec: patienceMilliseconds % 1000 * 1000)
        setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        var one: Int32 = 1
        setsockopt(raw, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if status == 0 { return raw }
        close(raw)
        return nil
    }

    /// Sends bytes and ignores write errors: a server that has closed reads no more, but its answers must be
    /// received.
    private func send(_ raw: Int32, _ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    private func receive(_ raw: Int32, _ isReset: inout Bool) -> ([UInt8], ConformanceCase.End) {
        var received: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(raw, &piece, piece.count, 0)
            if count > 0 {
                received += piece[..<count]
            } else if count < 0, errno == EAGAIN {
                return (received, .wait)
            } else if count < 0, errno == EINTR {
                continue
            } else {
                isReset = count < 0
                return (received, .close)
            }
        }
    }

    /// Splits the received bytes into answers: by length, by chunks, or up to the end of the connection.
    private static func observation(of received: ArraySlice<UInt8>, isPartial: Bool) -> Observation {
        var rest = received
        var answers: [ConformanceCase.Answer] = []
        var headers: [String] = []
        while let header = header(of: rest) {
            rest = rest.dropFirst(header.utf8.count)
            headers.append(header)
            var answer = ConformanceCase.Answer(status: Int(header.dropFirst(9).prefix(3)) ?? 0, content: [])
            if !(100..<200).contains(answer.status), answer.status != 204, answer.status != 304 {
                (answer.content, answer.isHead) = content(header, &rest)
            }
            answers.append(answer)
        }
        // The remaining bytes are not an HTTP/1 answer.
        if !rest.isEmpty { answers.append(ConformanceCase.Answer(status: 0, content: Array(rest))) }
        if let last = answers.last, last.content == Array(next.utf8) {
            return Observation(
                outcome: ConformanceCase.Outcome(answers: answers.dropLast(), end: .open), headers: headers)
        }
        let hasRefused = (answers.last?.status ?? 0) >= 400
        return Observation(
            outcome: ConformanceCase.Outcome(
                answers: answers, end: isPartial && !hasRefused ? .wait : .close),
            headers: headers)
    }

    private static func header(of bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.starts(with: "HTTP/1.".utf8) else { return nil }
        var index = bytes.startIndex
        while index + 3 < bytes.endIndex {
            if bytes[index] == 0x0D, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D,
                bytes[index + 3] == 0x0A
            {
                return String(decoding: bytes[...(index + 3)], as: UTF8.self)
            }
            index += 1
        }
        return nil
    }

    private static func content(_ header: String, _ rest: inout ArraySlice<UInt8>) -> ([UInt8], Bool) {
        let fields = header.lowercased().split(separator: "\r\n").dropFirst()
        let length = fields.first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).filter { $0 != " " }) }
        if let length {
            // When another answer or the end follows directly, this is an answer to HEAD, which has no
            // content.
            if length > 0, rest.isEmpty || rest.starts(with: "HTTP/1.".utf8) { return ([], true) }
            let content = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            return (content, false)
        }
        guard fields.contains(where: { $0.hasPrefix("transfer-encoding:") }) else {
            defer { rest = [] }
            return (Array(rest), false)
        }
        var content: [UInt8] = []
        while let end = rest.firstIndex(of: 0x0A) {
            let line = String(decoding: rest[..<end], as: UTF8.self)
            let size = Int(line.prefix { $0.isHexDigit }, radix: 16) ?? 0
            rest = rest[(end + 1)...]
            content += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
            if size == 0 { break }
        }
        return (content, false)
    }
}

extension ConformanceCase.Outcome {
    /// Whether the observed outcome equals this one.
    ///
    /// With `loosely`, contents are ignored and all success statuses are equal, for servers with other
    /// routes.
    func matches(_ observed: ConformanceCase.Outcome, loosely: Bool = false) -> Bool {
        guard end == observed.end, answers.count == observed.answers.count else { return false }
        return zip(answers, observed.answers).allSatisfy { wanted, seen in
            if loosely, wanted.status / 100 == 2, seen.status / 100 == 2 { return true }
            guard wanted.status == seen.status else { return false }
            if loosely { return true }
            return wanted.isHead == seen.isHead && (wanted.content == nil || wanted.content == seen.content)
        }
    }

    /// The outcome without interim answers, which a server may omit when the body has begun to arrive.
    var withoutInterim: ConformanceCase.Outcome {
        ConformanceCase.Outcome(answers: answers.filter { $0.status >= 200 }, end: end)
    }
}

extension ConformanceCase.Outcome: CustomStringConvertible {
    /// The outcome as a case file states it.
    var description: String {
        (answers.map(\.description) + [end.rawValue]).joined(separator: " ")
    }
}

extension ConformanceCase.Answer: CustomStringConvertible {
    /// The answer as a case file states it.
    var description: String {
        if isHead { return "\(status)/head" }
        guard let content, status / 100 == 2 || status == 0 else { return "\(status)" }
        let text = String(decoding: content.prefix(20), as: UTF8.self)
        return "\(status):" + text.map { $0.isWhitespace ? "_" : "\($0)" }.joined()
    }
}
