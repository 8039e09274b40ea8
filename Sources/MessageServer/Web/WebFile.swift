import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import CWeb

/// A file of the web pages, such as a script or a style sheet.
struct WebFile: Sendable, Hashable {
    /// The name, without a folder.
    let name: String
    let bytes: [UInt8]

    /// The names of all files; no other file of a folder is ever read.
    static let names: [String] = (0..<balloon_web_files()).map { file in
        let bytes = (0...).lazy.map { balloon_web_name_byte(file, $0) }.prefix { $0 != 0 }
        return String(decoding: Array(bytes), as: UTF8.self)
    }

    /// The files that are compiled into the program, without indentation and comments.
    static var embedded: [WebFile] {
        zip(0..., names).map { file, name in
            WebFile(name: name, bytes: (0..<balloon_web_size(file)).map { balloon_web_byte(file, $0) })
                .condensed
        }
    }

    /// The file without indentation; lines that contain only a comment are empty, and a style sheet has no space that
    /// only people need.
    ///
    /// No line is removed, so that a browser's console shows the line numbers of the source. No script may
    /// contain a string that spans lines, because this property would change the string.
    var condensed: WebFile {
        let (isScript, isStyle) = (name.hasSuffix(".js"), name.hasSuffix(".css"))
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            line -> [UInt8] in
            let content = line.drop { $0 == UInt8(ascii: " ") }
            if isScript, content.starts(with: "//".utf8) { return [] }
            guard isStyle else { return Array(content) }
            let isComment = content.starts(with: "/*".utf8) && content.suffix(2).elementsEqual("*/".utf8)
            return isComment ? [] : Self.dense(content)
        }
        return WebFile(name: name, bytes: Array(lines.joined(separator: [UInt8(ascii: "\n")])))
    }

    /// A line of a style sheet without the spaces around its punctuation; a text in quotes keeps its spaces.
    private static func dense(_ line: ArraySlice<UInt8>) -> [UInt8] {
        var dense: [UInt8] = []
        var isQuoted = false
        for byte in line {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            let before = dense.last ?? 0
            if byte == UInt8(ascii: " "), !isQuoted, ",:;{".utf8.contains(before) { continue }
            if "{}".utf8.contains(byte), before == UInt8(ascii: " "), !isQuoted { dense.removeLast() }
            dense.append(byte)
        }
        return dense
    }

    /// Reads the files of a folder; a file that cannot be read is empty.
    static func read(from folder: String) -> [WebFile] {
        names.map { name in
            // A file may be absent for a moment while an editor saves it.
            let bytes = try? File(folder + "/" + name, for: .readingGiven).readAll()
            return WebFile(name: name, bytes: bytes ?? [])
        }
    }

    /// The media type, chosen by the ending of the name.
    var contentType: String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}
