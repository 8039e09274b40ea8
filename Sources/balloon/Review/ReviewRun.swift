import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageServer
import Review

/// Plays the scenes of a review, those that may at the same time.
struct ReviewRun {
    let brief: Brief
    let business: ReviewedBusiness
    /// The scenes as they were played.
    private(set) var played: [Transcript] = []
    private let end = ContinuousClock.now + Self.limit

    /// The number of scenes that are played at the same time.
    private static let maximumScenes = 10
    /// The time after which no further scene begins.
    private static let limit = Duration.seconds(110)

    /// Plays every scene of these plays that is not played yet; `didPlay` gets the number of all that were.
    mutating func play(_ plays: Set<Play>, on place: ReviewServer, didPlay: (Int) -> Void) async {
        let plan = ReviewPlan(brief, business, of: plays)
        while case let due = plan.due(after: played), !due.isEmpty {
            var rest = due[...]
            while let first = rest.first {
                let count = first.isAlone ? 1 : rest.prefix(Self.maximumScenes).prefix { !$0.isAlone }.count
                if ContinuousClock.now > end {
                    played += rest.map { Self.skipped($0) }
                    break
                }
                played += await play(Array(rest.prefix(count)), on: place)
                rest = rest.dropFirst(count)
                didPlay(played.count)
            }
        }
    }

    private static func skipped(_ scene: Scene) -> Transcript {
        var transcript = Transcript(scene)
        transcript.failure = "the review took too long; play fewer checks with --only"
        return transcript
    }

    private func play(_ scenes: [Scene], on place: ReviewServer) async -> [Transcript] {
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

    /// Everything that the checks judge, with the files that the brief names.
    func evidence() async throws -> Evidence {
        var evidence = Evidence(brief, business, played)
        let transport = try CurlTransport()
        for name in brief.logos.map(\.file) + brief.entryPages {
            // A check says which file cannot be read.
            evidence.files[name] =
                name.hasPrefix("https://")
                ? try? await transport.send(TransportRequest(url: name, timeout: .seconds(5))).body
                : try? CommandFile.bytes(name)
        }
        return evidence
    }
}

extension ReviewedBusiness {
    /// The settings of a business's file.
    init(_ business: BusinessConfiguration) {
        self.init(name: business.name)
        id = business.businessID.rawValue
        guard let people = business.people else { return }
        hasPeople = true
        hasHours = people.hours != nil
        words = ReviewPlan.personWords.filter { people.words.match($0, locale: nil) }
        hasMenu = people.menu != nil
        intents = people.rules.compactMap(\.intent)
    }
}
