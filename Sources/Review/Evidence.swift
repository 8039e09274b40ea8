/// Everything that the checks judge.
package struct Evidence: Sendable {
    /// The brief of the business.
    package let brief: Brief
    /// The settings of the business's file.
    package let business: ReviewedBusiness
    /// The scenes as they were played.
    package let transcripts: [Transcript]
    /// The logos and pages that the brief names, by their paths; one that cannot be read is missing.
    package var files: [String: [UInt8]] = [:]
    /// Days since the last message of the running server; nil when the review knows none.
    package var idleDays: Int?

    /// Creates evidence.
    package init(_ brief: Brief, _ business: ReviewedBusiness, _ transcripts: [Transcript]) {
        self.brief = brief
        self.business = business
        self.transcripts = transcripts
    }

    /// A turn with its place.
    struct PlacedTurn: Quotable {
        let transcript: Transcript
        let index: Int
        var turn: Turn { transcript.turns[index] }
        var quote: Finding.Quote { Finding.Quote(scene: transcript.scene.name, turn: index) }
    }

    /// A message with its place.
    struct PlacedLine: Quotable {
        let line: Line
        let place: PlacedTurn
        var quote: Finding.Quote { place.quote }
    }

    func played(_ plays: Play...) -> [Transcript] {
        transcripts.filter { plays.contains($0.scene.play) }
    }

    /// The turns of the customer in some plays.
    func turns(_ plays: Play...) -> [PlacedTurn] {
        transcripts.filter { plays.contains($0.scene.play) }.flatMap(\.places)
    }

    /// All messages that customers received, without typing indicators.
    var lines: [PlacedLine] {
        transcripts.flatMap(\.places).flatMap { place in
            place.turn.messages.map { PlacedLine(line: $0, place: place) }
        }
    }

    /// The messages that programs wrote.
    var automaticLines: [PlacedLine] { lines.filter { $0.line.author != .person } }
}

/// The settings of a business's file that a review needs.
package struct ReviewedBusiness: Sendable {
    /// The name for people.
    package var name: String
    /// Apple's identifier of the business; empty when the review chose one.
    package var id = ""
    /// Whether persons can answer.
    package var hasPeople = false
    /// Whether the file says when persons answer.
    package var hasHours = false
    /// The words that lead to a person, in all languages.
    package var words: [String] = []
    /// Whether the server answers with a menu itself.
    package var hasMenu = false
    /// The purposes that the business's rules name.
    package var intents: [String] = []

    /// Creates a business without settings.
    package init(name: String) { self.name = name }
}

/// A place of a transcript; a finding about it quotes it.
extension Transcript {
    /// The turns with their places.
    var places: [Evidence.PlacedTurn] {
        turns.indices.map { Evidence.PlacedTurn(transcript: self, index: $0) }
    }
}

protocol Quotable {
    var quote: Finding.Quote { get }
}

extension Quotable {
    func objection(_ words: String) -> Finding { .objection(words, [quote]) }
    func advice(_ words: String) -> Finding { .advice(words, [quote]) }
    func look(_ words: String) -> Finding { .look(words, [quote]) }
}
