import BalloonJSON
import TestSupport
import Testing

/// Parses damaged and random texts: the result is a document that can be walked, or an error with an offset
/// inside the text.
struct JSONRobustnessTests {
    @Test(arguments: Samples.all)
    func `a truncated text is refused unless it is a number`(text: String) throws {
        let bytes = Array(text.utf8)
        let extent = try JSONDocument(bytes).root.text.indices
        // The beginning of a number can be a number; any other truncated text is invalid.
        let isNumber = try JSONDocument(bytes).root.kind == .number
        for length in 0..<extent.upperBound {
            let document = Result { try JSONDocument(Array(bytes[..<length])) }
            switch document {
            case .success(let document): #expect(isNumber && document.root.kind == .number, "\(length) bytes")
            case .failure(let error): #expect((error as? JSONError).map { $0.offset <= length } == true)
            }
        }
    }

    @Test func `a document stays valid when the next one reuses its memory`() throws {
        var memory = JSONMemory()
        let texts =
            Samples.all + [String(repeating: " ", count: 200_000) + "[1,[2,{\"a\":[]}]]"] + Samples.all
        var kept: [(JSONDocument, [UInt8])] = []
        for (position, text) in texts.enumerated() {
            let bytes = Array(text.utf8)
            #expect(throws: JSONError.self) { try JSONDocument([0x7B], reusing: &memory) }
            let document = try JSONDocument(bytes, reusing: &memory)
            try expectCoherent(document)
            if position.isMultiple(of: 3) { kept.append((document, bytes)) }
        }
        for (document, bytes) in kept {
            #expect(document.bytes == bytes)
            try expectCoherent(document)
            #expect(document.root.text == (try JSONDocument(bytes)).root.text)
        }
    }

    @Test(arguments: Fixture.names(in: "messages"))
    func `a truncated message is refused, and the complete message is consistent`(name: String) throws {
        let bytes = Fixture.bytes("messages/" + name)
        let document = try JSONDocument(bytes)
        #expect(document.bytes == bytes)
        try expectCoherent(document)
        for length in 0..<document.root.text.endIndex {
            #expect(throws: JSONError.self) { try JSONDocument(Array(bytes[..<length])) }
        }
    }

    @Test func `a randomly damaged text is refused, or gives a consistent document`() throws {
        var random = SeededGenerator(seed: 7)
        var (accepted, refused) = (0, 0)
        let alphabet =
            Array("{}[]\",:\\u0189-+.eEtfn \n\t/é".utf8) + [0, 0x1F, 0x80, 0xBF, 0xC0, 0xED, 0xF4, 0xFF]
        for round in 0..<4000 {
            var bytes = Array(Samples.all[round % Samples.all.count].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[at] = alphabet.randomElement(using: &random) ?? 0
                case 1: bytes.insert(alphabet.randomElement(using: &random) ?? 0, at: at)
                case 2: bytes.remove(at: at)
                default: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
            }
            do {
                try expectCoherent(try JSONDocument(bytes))
                accepted += 1
            } catch let error as JSONError {
                #expect(0...bytes.count ~= error.offset)
                refused += 1
            }
        }
        #expect(accepted > 100 && refused > 100)
    }

    @Test func `random short texts of JSON's own characters never trap`() {
        var random = SeededGenerator(seed: 11)
        let alphabet = Array(#"{}[]",:\u01e-. tn"#.utf8)
        var accepted = 0
        for _ in 0..<30000 {
            let length = Int.random(in: 0...9, using: &random)
            let bytes = (0..<length).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            if (try? JSONDocument(bytes)) != nil { accepted += 1 }
        }
        #expect(accepted > 10)
    }
}

/// Walks a whole document and expects its parts to be of their stated type, inside their container and in order.
private func expectCoherent(_ document: JSONDocument) throws {
    var waiting = [document.root]
    while let value = waiting.popLast() {
        let alone = try JSONDocument(Array(value.text)).root
        #expect(alone.kind == value.kind && alone.count == value.count)
        #expect(alone.string == value.string && alone.int == value.int && alone.double == value.double)
        let children = Array(value.elements) + value.members.map(\.value)
        #expect(children.count == value.count)
        var position = value.text.startIndex + 1
        for child in children {
            #expect(child.text.startIndex >= position && child.text.endIndex < value.text.endIndex)
            position = child.text.endIndex
        }
        waiting += children
    }
}
