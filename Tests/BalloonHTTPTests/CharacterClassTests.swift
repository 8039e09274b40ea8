import Testing

@testable import BalloonHTTP

@Suite struct CharacterClassTests {
    @Test func `the constants of character classes equal the sets of their members`() {
        #expect(CharacterClass.token == CharacterClass(CharacterClass.tokenMembers))
        #expect(CharacterClass.target == CharacterClass(CharacterClass.targetMembers))
        #expect(CharacterClass.host == CharacterClass(CharacterClass.hostMembers))
    }
}
