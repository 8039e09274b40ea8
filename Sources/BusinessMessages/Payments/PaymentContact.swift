internal import BalloonJSON

/// The contact of the payer or the receiver.
///
/// Before the payment the device sends only the town, the area and the country.
public struct PaymentContact: Hashable, Sendable {
    /// The given name.
    public let givenName: String?
    /// The family name.
    public let familyName: String?
    /// The pronunciation of the given name.
    public let phoneticGivenName: String?
    /// The pronunciation of the family name.
    public let phoneticFamilyName: String?
    /// The mail address.
    public let emailAddress: String?
    /// The telephone number.
    public let phoneNumber: String?
    /// The street, one element for each line.
    public let addressLines: [String]
    /// The part of the town.
    public let subLocality: String?
    /// The town.
    public let locality: String?
    /// The postal code.
    public let postalCode: String?
    /// The county.
    public let subAdministrativeArea: String?
    /// The state or the province.
    public let administrativeArea: String?
    /// The country's name.
    public let country: String?
    /// The country, two letters of ISO 3166 in upper case.
    public let countryCode: String?

    init(_ value: JSONValue) {
        givenName = value["givenName"]?.nonEmptyString
        familyName = value["familyName"]?.nonEmptyString
        phoneticGivenName = value["phoneticGivenName"]?.nonEmptyString
        phoneticFamilyName = value["phoneticFamilyName"]?.nonEmptyString
        emailAddress = value["emailAddress"]?.nonEmptyString
        phoneNumber = value["phoneNumber"]?.nonEmptyString
        addressLines = value["addressLines"]?.elements.compactMap(\.nonEmptyString) ?? []
        subLocality = value["subLocality"]?.nonEmptyString
        locality = value["locality"]?.nonEmptyString
        postalCode = value["postalCode"]?.nonEmptyString
        subAdministrativeArea = value["subAdministrativeArea"]?.nonEmptyString
        administrativeArea = value["administrativeArea"]?.nonEmptyString
        country = value["country"]?.nonEmptyString
        countryCode = value["countryCode"]?.nonEmptyString?.uppercased()
    }
}

extension PaymentContact: CustomStringConvertible {
    /// A text without the contact's data, so that no log shows them by accident.
    public var description: String { "[contact]" }
}
