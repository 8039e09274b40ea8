// Arguments: HOST PORT [--all] FILE... Plays every case of the files; exits with 1 when an answer is one that no rule allows.
import Glibc

func contents(of path: String) -> String {
    let file = open(path, O_RDONLY)
    defer { close(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(file, &piece, piece.count)
        if count <= 0 { return String(decoding: bytes, as: UTF8.self) }
        bytes += piece[..<count]
    }
}

var arguments = Array(CommandLine.arguments.dropFirst())
let isStrict = arguments.contains("--all")
arguments.removeAll { $0 == "--all" }
let client = ConformanceClient(
    host: arguments[0], port: UInt16(arguments[1]) ?? 0, patienceMilliseconds: 1000)

let plain = try ConformanceCase.read(
    "case: a\nfrom: b\nwant: 200 open\n> GET / HTTP/1.1\n> Host: a\n>", file: "the first request")[0]
guard let first = client.play(plain), plain.outcomes[0].matches(first.outcome) else {
    print(
        "conformance: \(arguments[0]):\(arguments[1]) must answer 200 to GET /, and GET /next with \"next\"")
    exit(69)
}

var played = 0
var wrong = 0
for path in arguments.dropFirst(2) {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    var fileWrong = 0
    let cases = try ConformanceCase.read(contents(of: path), file: file).filter { isStrict || !$0.isOwn }
    for item in cases {
        let seen = client.play(item)?.outcome
        if let seen, item.outcomes.contains(where: { $0.matches(seen, loosely: !isStrict) }) { continue }
        fileWrong += 1
        let wanted = item.outcomes.map(\.description).joined(separator: " | ")
        print(
            "\(file): \(item.name) [\(item.source)]: \(seen.map(\.description) ?? "nothing") instead of \(wanted)"
        )
    }
    played += cases.count
    wrong += fileWrong
    print("\(file): \(cases.count - fileWrong) of \(cases.count) right")
}
print("all: \(played - wrong) of \(played) right (\((played - wrong) * 1000 / max(1, played)) per mille)")
exit(wrong == 0 ? 0 : 1)
