import Testing

@testable import BalloonHTTP

@Suite struct CharacterClassTests {
    @Test func `the constants are what their members make`() {
        #expect(CharacterClass.token == CharacterClass(CharacterClass.tokenMembers))
        #expect(CharacterClass.target == CharacterClass(CharacterClass.targetMembers))
        #expect(CharacterClass.host == CharacterClass(CharacterClass.hostMembers))
    }
}
