import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageServer

/// The claims of the landing page: their fields, their files and their limits.
@Suite struct OnboardingClaimsTests {
    private let directory = TemporaryDirectory()
    private let claims: OnboardingClaims
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    init() { claims = OnboardingClaims(dataDirectory: directory.path) }

    private static func text(_ count: Int) -> String { String(repeating: "a", count: count) }

    private func claim(
        _ fields: [(String, String)], isForm: Bool = true, at time: Timestamp? = nil
    ) throws(OnboardingClaim.Defect) -> OnboardingClaim {
        try OnboardingClaim(isForm: isForm, at: time ?? now) { name in
            fields.filter { $0.0 == name }.map(\.1)
        }
    }

    private func claim(_ id: String, at time: Timestamp? = nil) throws -> OnboardingClaim {
        try claim([("id", id), ("contact", "a@example.com")], at: time)
    }

    @Test func `the identifier is read with and without Apple's prefix, and internal accounts have no name`()
        throws
    {
        for id in ["b-1", "urn:biz:b-1", "URN:BIZ:b-1"] {
            let read = try claim([("id", id)], isForm: false)
            #expect(read.business == "b-1" && read.name.isEmpty && read.logo.isEmpty && read.contact.isEmpty)
        }
    }

    @Test(arguments: [
        ([], OnboardingClaim.Defect.missing("id")), ([("id", "")], .missing("id")),
        ([("id", "urn:biz:")], .missing("id")), ([("id", "a b")], .malformed("id")),
        ([("id", "é")], .malformed("id")), ([("id", "a"), ("id", "b")], .malformed("id")),
        ([("id", "a"), ("name", "x\u{1B}[2J")], .malformed("name")),
        ([("id", "a"), ("name", "x"), ("name", "y")], .malformed("name")),
        ([("id", "a"), ("logo", "x\n")], .malformed("logo")),
        ([("id", "a")], .missing("contact")), ([("id", "a"), ("contact", " \u{3000}")], .missing("contact")),
        ([("id", text(129)), ("contact", "c")], .malformed("id")),
        ([("id", "a"), ("name", text(201)), ("contact", "c")], .malformed("name")),
        ([("id", "a"), ("logo", text(2049)), ("contact", "c")], .malformed("logo")),
        ([("id", "a"), ("contact", text(201))], .malformed("contact")),
    ])
    func `an entry with a missing, repeated, long or controlling field is refused`(
        fields: [(String, String)], defect: OnboardingClaim.Defect
    ) {
        #expect(throws: defect) { try claim(fields) }
    }

    @Test func `an entry at each limit is kept as it is`() throws {
        let entry = try claim([
            ("id", Self.text(128)), ("name", Self.text(200)), ("logo", Self.text(2048)),
            ("contact", Self.text(200)),
        ])
        let name = try claims.add(entry)
        #expect(try claims.claim(name, at: now) == entry)
    }

    @Test func `a business has five claims side by side, and a dropped one makes room`() throws {
        let names = try (0..<OnboardingClaims.maximumPerBusiness).map { _ in try claims.add(claim("b-1")) }
        #expect(Set(names).count == 5)
        #expect(throws: OnboardingClaims.Refusal.businessFull) { try claims.add(claim("b-1")) }
        _ = try claims.add(claim("b-2"))
        #expect(try claims.drop(names[2]))
        #expect(try claims.drop(names[2]) == false)
        #expect(try claims.add(claim("b-1")) == names[2])
        #expect(try claims.claims(at: now).claims.count == 6)
    }

    @Test func `there are at most 1,000 claims`() throws {
        let first = try claims.add(claim("b-0"))
        let folder = directory.file("onboarding/")
        let bytes = try File(folder + first + ".json", for: .reading).readAll()
        for number in 1..<OnboardingClaims.maximumCount {
            let digits = String(number, radix: 16)
            let name = String(repeating: "0", count: 16 - digits.count) + digits + "-1"
            try File(folder + name + ".json", for: .creating).append(bytes)
        }
        #expect(throws: OnboardingClaims.Refusal.full) { try claims.add(claim("b-9")) }
        #expect(try claims.drop(first))
        #expect(throws: Never.self) { try claims.add(claim("b-9")) }
    }

    @Test func `a claim is gone after 30 days`() throws {
        let end = now.advanced(by: .seconds(30 * 86_400))
        let before = Timestamp(milliseconds: end.milliseconds - 1)
        let name = try claims.add(claim("b-1"))
        try claims.sweep(at: before)
        #expect(try claims.claim(name, at: before) != nil)
        #expect(try claims.claim(name, at: end) == nil)
        #expect(try claims.claims(at: end).claims.isEmpty)
        try claims.sweep(at: end)
        #expect(try Directory.names(in: directory.file("onboarding")) == [])
    }

    @Test func `a damaged file is named, survives the sweep and can be dropped`() throws {
        let name = try claims.add(claim("b-1"))
        try AtomicFile.write(Array("{".utf8), to: directory.file("onboarding/\(name).json"))
        try claims.sweep(at: now.advanced(by: .seconds(90 * 86_400)))
        #expect(try claims.claims(at: now).damaged == [name])
        #expect(try claims.claim(name, at: now) == nil)
        #expect(try claims.drop(name))
    }

    @Test(arguments: [
        "", "../../etc/passwd", "0000000000000000-0", "0000000000000000-6", "000000000000000G-1",
        "0000000000000000", "/000000000000000-1",
    ])
    func `a name that is none is no path`(name: String) throws {
        #expect(try claims.claim(name, at: now) == nil)
        #expect(try claims.drop(name) == false)
    }

    @Test func `the printed file is one that the server loads`() throws {
        let hostile = try claim([("id", "b-7"), ("name", #"</x>"\ Ünï"#), ("contact", "c")])
        let text = try #require(hostile.businessFile(slug: "shop"))
        let loaded = try ConfigurationFiles(businesses: ["shop": text]).load().businesses[0]
        #expect(loaded.businessID.rawValue == "b-7" && loaded.name == #"</x>"\ Ünï"#)
        let nameless = try #require(try claim("b-7").businessFile(slug: "shop"))
        #expect(try ConfigurationFiles(businesses: ["shop": nameless]).load().businesses[0].name == "shop")
        for slug in ["", "Shop", "a/b", "..", Self.text(65)] {
            #expect(hostile.businessFile(slug: slug) == nil)
        }
    }

    @Test func `five claims of an address are admitted within an hour`() {
        var limit = OnboardingLimit()
        let start = ContinuousClock.now
        let rows = [
            ("192.0.2.1", 0, true), ("192.0.2.1", 60, true), ("192.0.2.1", 120, true),
            ("192.0.2.1", 180, true), ("192.0.2.1", 240, true), ("192.0.2.1", 3599, false),
            ("::2", 3599, true), ("192.0.2.1", 3600, true), ("192.0.2.1", 3600, false),
        ]
        for (client, second, isAdmitted) in rows {
            let found = limit.admit(.forwarded(client), at: start + .seconds(second))
            #expect(found == isAdmitted, "\(client) at \(second)")
        }
    }

    @Test func `the number of remembered addresses is bounded, and old ones are forgotten`() {
        var limit = OnboardingLimit()
        let start = ContinuousClock.now
        let admitted = (0..<OnboardingLimit.maximumOrigins).filter {
            limit.admit(.forwarded("\($0)"), at: start)
        }
        #expect(admitted.count == OnboardingLimit.maximumOrigins)
        let early = limit.admit(.forwarded("new"), at: start + .seconds(3599))
        let late = limit.admit(.forwarded("new"), at: start + .seconds(3600))
        #expect(!early && late)
    }

    @Test func `only a proxy on this machine names the client, and its last value counts`() {
        let local = PeerAddress()
        typealias Origin = OnboardingLimit.Origin
        #expect(Origin(local, forwardedFor: nil) == .peer(local))
        #expect(Origin(local, forwardedFor: "1.1.1.1, 192.0.2.7 ") == .forwarded("192.0.2.7"))
        #expect(Origin(local, forwardedFor: "1.1.1.1,") == .peer(local))
        #expect(Origin(local, forwardedFor: Self.text(65)) == .peer(local))
    }
}
