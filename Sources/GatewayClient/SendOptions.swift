/// The optional headers of a message.
package struct SendOptions: Sendable, Equatable {
    /// `auto-reply: true`: a program wrote the message, not a person.
    package var isAutomatic = true
    /// `message-type: notification`: the message invites a customer who has not written first.
    package var isNotification = false
    /// `include-data-ref: true`: Apple answers an interactive message with a reference to its content.
    package var wantsReference = false

    /// Creates the options of a reply that a program wrote.
    package init() {}
}
