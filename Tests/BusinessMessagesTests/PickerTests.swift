import Testing

@testable import BusinessMessages

struct PickerTests {
    private func quickReply(_ content: Content) throws -> QuickReply {
        guard case .quickReply(let reply) = content else { throw Unexpected(content.kind) }
        return reply
    }

    private func listPicker(_ content: Content) throws -> ListPicker {
        guard case .listPicker(let picker) = content else { throw Unexpected(content.kind) }
        return picker
    }

    private func timePicker(_ content: Content) throws -> TimePicker {
        guard case .timePicker(let picker) = content else { throw Unexpected(content.kind) }
        return picker
    }

    @Test func `a quick reply is decoded with the choice and the offered items`() throws {
        let reply = try quickReply(event("quickReply").content)
        #expect(reply.selectedIndex == 2)
        #expect(reply.selectedIdentifier == "evening")
        #expect(reply.items.map(\.identifier) == ["morning", "noon", "evening"])
        #expect(reply.selectedItem?.title == "In the evening")
        #expect(reply.interaction.requestIdentifier?.count == 36)
        #expect(reply.interaction.sessionIdentifier?.count == 36)
        #expect(reply.interaction.version == "1.0")
        #expect(reply.interaction.bid == Interaction.businessExtension)
        #expect(reply.interaction.replyMessage == nil)
    }

    @Test(arguments: [
        (#"{"selectedIndex":1,"items":[{"identifier":"a"},{"identifier":"b"}]}"#, "b"),
        (#"{"selectedIndex":"1","items":[{"identifier":"a"},{"identifier":"b"}]}"#, "b"),
        (
            #"{"selectedIndex":0,"selectedIdentifier":"b","items":[{"identifier":"a"},{"identifier":"b"}]}"#,
            "b"
        ),
        (#"{"selectedIndex":0,"selectedIdentifier":"gone","items":[{"identifier":"a"}]}"#, "a"),
        (#"{"selectedIdentifier":7,"items":{"identifier":7}}"#, "7"),
        (#"[{"selectedIndex":0,"items":[{"identifier":"a"}]}]"#, "a"),
        (#"{"selectedIndex":2,"items":[{"identifier":"a"}]}"#, nil),
        (#"{"selectedIndex":-1,"items":[{"identifier":"a"}]}"#, nil),
        (#"{"selectedIndex":0,"items":["a"]}"#, nil),
        (#"{"selectedIdentifier":"a"}"#, "a"), (#"{"selectedIdentifier":"a","items":[]}"#, "a"),
        (#"{"selectedIdentifier":"gone","items":[{"identifier":"a"}]}"#, nil),
        (#"{}"#, nil),
    ])
    func `the chosen item of a quick reply is found by identifier, else by position`(
        value: String, expected: String?
    ) throws {
        #expect(
            try quickReply(content(data: #"{"quick-reply":\#(value)}"#)).selectedItem?.identifier == expected)
        #expect(
            try quickReply(content(data: #"{"quickReply":\#(value)}"#)).selectedItem?.identifier == expected)
    }

    @Test func `a list picker is decoded with the chosen items of every section`() throws {
        let picker = try listPicker(event("listPicker").content)
        #expect(picker.sections.map(\.title) == ["You Selected", "Bakery"])
        #expect(picker.sections.map(\.order) == [0, 1])
        #expect(picker.sections.map(\.multipleSelection) == [true, nil])
        #expect(picker.selectedItems.map(\.identifier) == ["apple-1", "pear-1", "rye"])
        let apples = try #require(picker.selectedItems.first)
        #expect(apples.title == "Apples")
        #expect(apples.subtitle == "One kilogram")
        #expect(apples.order == 0)
        #expect(apples.style == "default")
        #expect(apples.imageIdentifier == "1")
        #expect(picker.replyTitle == "Apples, Pears, Rye bread")
        let bubble = try #require(picker.interaction.replyMessage)
        #expect(bubble.alternateTitle == "Your basket")
        #expect(bubble.style == "small")
        #expect(picker.interaction.receivedMessage?.subtitle == "Picked this morning")
        let image = try #require(picker.interaction.images.first)
        #expect(image.identifier == "1")
        #expect(image.description == "A basket")
        #expect(image.base64?.hasPrefix("iVBOR") == true)
    }

    @Test(arguments: [
        #"{"sections":[{"listPickerItem":[{"identifier":1}]}]}"#,
        #"{"sections":{"items":{"identifier":1}}}"#,
        #"[{"items":[{"identifier":"1"}]}]"#,
        #"{"items":[{"identifier":"1"}]}"#,
    ])
    func `a list picker is decoded in every shape that Apple's documents show`(value: String) throws {
        let picker = try listPicker(content(data: #"{"listPicker":\#(value)}"#))
        #expect(picker.selectedItems.map(\.identifier) == ["1"])
        #expect(picker.replyTitle == nil)
    }

    @Test func `a time picker is decoded with the chosen slot`() throws {
        let picker = try timePicker(event("timePicker").content)
        #expect(picker.identifier == "repair-7")
        #expect(picker.title == "Repair of your bicycle")
        #expect(picker.timezoneOffset == .seconds(7200))
        #expect(picker.imageIdentifier == "1")
        #expect(picker.location?.title == "Workshop")
        #expect(picker.location?.latitude == 48.137)
        #expect(picker.location?.longitude == 11.575)
        #expect(picker.location?.radius == 50)
        let slot = try #require(picker.selectedTimeslot)
        #expect(slot.identifier == "slot-2")
        #expect(slot.startTime == "2026-07-10T17:00+0000")
        #expect(slot.startSeconds == 1_783_702_800)
        #expect(slot.duration == .seconds(2700))
        #expect(picker.interaction.replyMessage?.title == "10 July, 19:00")
    }

    @Test func `the event of a time picker is also found where older devices send it`() throws {
        let picker = try timePicker(event("timePicker-legacy").content)
        #expect(picker.selectedTimeslot?.identifier == "slot-1")
        #expect(picker.selectedTimeslot?.startSeconds == 1_783_672_200)
        #expect(picker.selectedTimeslot?.duration == .seconds(1800))
        #expect(picker.timezoneOffset == nil)
        #expect(picker.location == nil)
    }

    @Test(arguments: [("-1440", -86_400), ("1440", 86_400), ("-1441", nil), (#""90""#, 5400), ("1e300", nil)])
    func `a time zone's offset of more than a day is ignored`(value: String, seconds: Int?) throws {
        let picker = try timePicker(content(data: #"{"event":{"timezoneOffset":\#(value)}}"#))
        #expect(picker.timezoneOffset == seconds.map { .seconds($0) })
        #expect(picker.selectedTimeslot == nil)
    }
}
