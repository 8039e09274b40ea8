import BalloonHTTP
import BalloonJSON
import BusinessMessages
import MessageStore

/// `GET /v1/businesses`: the businesses of the token, each with the state of its handler.
enum BusinessRoutes {
    static func make(_ registry: HandlerRegistry) -> [APIRoute] {
        [
            APIRoute(.get, "/v1/businesses", may: .read, "List the businesses of the token") { request in
                let businesses = request.access.businesses(of: request.token)
                return APIAnswer { writer in
                    writer.key("businesses")
                    writer.array { writer in
                        for business in businesses {
                            writer.object { writer in
                                writer.field("slug", business.slug)
                                writer.field("businessID", business.id.rawValue)
                                writer.field("name", business.name)
                            }
                        }
                    }
                }
            }
        ]
    }
}
