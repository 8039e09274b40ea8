/// Returns whether `bytes[start..<end]` is `host[:port]` (RFC 9110 §7.2): a name, an IPv4 address or an IPv6
/// literal.
///
/// The check is stricter than RFC 3986: it refuses sub-delims such as `,` and `;`. Host names do not contain
/// them, but request smuggling uses them.
func isHost(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Bool {
    guard start < end else { return false }
    var cursor = start
    if bytes[start] == 0x5B {
        while cursor < end, bytes[cursor] != 0x5D { cursor += 1 }
        guard cursor < end, isIPv6(bytes, start + 1, cursor) else { return false }
        cursor += 1
    } else {
        while cursor < end, bytes[cursor] != 0x3A {
            guard CharacterClass.host.contains(bytes[cursor]) else { return false }
            cursor += 1
        }
        guard cursor > start else { return false }
    }
    return cursor == end || bytes[cursor] == 0x3A && isPort(bytes, cursor + 1, end)
}

/// Returns whether `bytes[start..<end]` is a port: a number up to 65535, or empty (RFC 3986 §3.2.3).
private func isPort(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Bool {
    var port = 0
    for index in start..<end {
        guard isDigit(bytes[index]) else { return false }
        port = port * 10 + Int(bytes[index] - 0x30)
        guard port <= 65535 else { return false }
    }
    return end - start <= 5
}

/// Returns whether `bytes[start..<end]` is an IPv6 address (RFC 3986 §3.2.2): eight groups of up to four hex
/// digits.
///
/// `::` may replace one run of groups, and an IPv4 address may replace the last two groups.
private func isIPv6(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Bool {
    var groups = 0
    var hasGap = false
    var cursor = start
    while cursor < end {
        if bytes[cursor] == 0x3A {
            // A colon must be part of `::`, or stand between two groups: a single colon is neither first nor
            // last.
            let isDouble = cursor + 1 < end && bytes[cursor + 1] == 0x3A
            if isDouble {
                guard !hasGap else { return false }
                hasGap = true
                cursor += 2
                continue
            }
            guard groups > 0, cursor + 1 < end, bytes[cursor - 1] != 0x3A else { return false }
            cursor += 1
        }
        let group = cursor
        while cursor < end, isHexDigit(bytes[cursor]) { cursor += 1 }
        if cursor < end, bytes[cursor] == 0x2E {
            guard isIPv4(bytes, group, end) else { return false }
            groups += 2
            cursor = end
        } else {
            guard cursor > group, cursor - group <= 4, cursor == end || bytes[cursor] == 0x3A else {
                return false
            }
            groups += 1
        }
    }
    return hasGap ? groups <= 7 : groups == 8
}

private func isIPv4(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Bool {
    var parts = 0
    var cursor = start
    while true {
        let part = cursor
        var value = 0
        while cursor < end, isDigit(bytes[cursor]), cursor - part < 3 {
            value = value * 10 + Int(bytes[cursor] - 0x30)
            cursor += 1
        }
        guard cursor > part, value <= 255 else { return false }
        parts += 1
        if cursor == end { return parts == 4 }
        guard bytes[cursor] == 0x2E else { return false }
        cursor += 1
    }
}
