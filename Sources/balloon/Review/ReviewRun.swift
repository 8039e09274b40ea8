import BalloonJSON
import BalloonPOSIX
import MessageServer
import Review
import Simulator

/// Plays the scenes of a plan, those that may at the same time.
struct ReviewRun {
    let place: ReviewServer
    let brief: Brief
    let plays: Set<Play>

    /// The number of scenes that are played at the same time.
    private static let maximumScenes = 10
    /// The time after which no further scene begins.
    private static let limit = Duration.seconds(110)

    /// Plays every scene; `didPlay` gets the number of those that were played.
    func play(didPlay: (Int) -> Void) async throws -> Evidence {
        let business = ReviewedBusiness(place.business)
        let plan = ReviewPlan(brief, business, of: plays)
        let end = ContinuousClock.now + Self.limit
        var played: [Transcript] = []
        var isClosed = false
        while case let due = plan.due(after: played), !due.isEmpty {
            if due.contains(where: { $0.play == .closed }), !isClosed {
                try await closeDesk()
                isClosed = true
            }
            var rest = due[...]
            while let first = rest.first {
                let count = first.isAlone ? 1 : rest.prefix(Self.maximumScenes).prefix { !$0.isAlone }.count
                if ContinuousClock.now > end {
                    played += rest.map { Self.skipped($0) }
                    break
                }
                played += await play(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
                didPlay(played.count)
            }
        }
        var evidence = Evidence(brief, business, played)
        for logo in brief.logos { evidence.logos[logo.file] = try? CommandFile.bytes(logo.file) }
        return evidence
    }

    private static func skipped(_ scene: Scene) -> Transcript {
        var transcript = Transcript(scene)
        transcript.failure = "the review took too long; play fewer checks with --only"
        return transcript
    }

    private func play(_ scenes: [Scene]) async -> [Transcript] {
        await withTaskGroup { group in
            for (index, scene) in scenes.enumerated() {
                group.addTask {
                    var player = ScenePlayer(scene, brief, on: place)
                    return (index, await player.play())
                }
            }
            var transcripts: [(Int, Transcript)] = []
            for await transcript in group { transcripts.append(transcript) }
            return transcripts.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func closeDesk() async throws {
        guard place.business.people != nil else { return }
        let text = brief.closedText.isEmpty ? "We are closed." : brief.closedText
        let body = JSONWriter.object { writer in
            writer.field("open", false)
            writer.field("text", text)
        }
        let (status, _) = try await place.call("PUT", "people", body)
        guard status == 200 else {
            throw CommandFailure.refused(status: status, answer: "the help desk cannot be closed")
        }
    }
}

extension ReviewedBusiness {
    /// The settings of a business.
    init(_ business: BusinessConfiguration) {
        self.init(name: business.name)
        languages = business.languages.sorted()
        hasFallback = business.fallback != nil
        guard let people = business.people else { return }
        hasPeople = true
        words = ReviewPlan.personWords.filter { people.words.match($0, locale: nil) }
        hasMenu = people.menu != nil
        intents = people.rules.compactMap(\.intent)
    }
}
