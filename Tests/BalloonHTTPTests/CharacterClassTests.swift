import Testing

@testable import BalloonHTTP

@Suite struct CharacterClassTests {
    @Test(
        arguments: [
            (
                CharacterClass.token,
                "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
            ),
            (
                CharacterClass.target,
                "!$%&'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
            ),
            (CharacterClass.host, "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"),
        ])
    func `a character class contains exactly its members`(characters: CharacterClass, members: String) {
        #expect((0...255).filter(characters.contains) == members.utf8.sorted())
    }
}
