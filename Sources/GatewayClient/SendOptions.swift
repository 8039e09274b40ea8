/// What the headers of a message say beyond who writes to whom.
package struct SendOptions: Sendable, Equatable {
    /// `auto-reply: true`: a program wrote it, not a person.
    package var isAutomatic = true
    /// `message-type: notification`: an invitation.
    package var isNotification = false
    /// `include-data-ref: true`: Apple answers an interactive message with a reference to its content.
    package var wantsReference = false

    /// A reply of a program.
    package init() {}
}
