internal import EinlassJSON
internal import EinlassRPC

/// `network.status`: returns whether this machine is online.
func networkStatus(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "network.status", .immediate,
      "Whether this machine is online. Information only: no request is refused because of it.",
      result: .object([
        .optional(
          "online", .boolean,
          "Whether there is a default route over a running interface; missing if the system does not say."
        )
      ])),
    .urgent { _, _ in
      .object(JSONObject(present: ["online": server.network.look().map(JSONValue.bool)]))
    })
}
