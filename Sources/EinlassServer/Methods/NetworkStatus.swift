internal import EinlassJSON
internal import EinlassRPC

/// `network.status`: returns whether this machine is online.
func networkStatus(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "network.status", .immediate,
      "Whether the machine is online.", description: networkStatusDescription,
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

private let networkStatusDescription = """
  - It is information for the person: no request is refused because of it, and no request is sent to find it out.
  - `online` is `true` if the main routing table has a default route, IPv4 or IPv6, over an interface that is up and
    running: with a carrier. Loopback does not count. Of a route over several interfaces, one has to run.
  - `online: false` does not make a request useless. A provider on this machine or in the local network answers without
    a default route. A proxy or a VPN may use another routing table.
  - `online: true` does not promise an answer. The network may end behind the first router.
  - A front end with `capabilities.network` receives `network.changed` at each change of `online` after `initialize`. It
    asks for the first value with `network.status`. No other front end costs einlass a socket or a wake-up.
  - Linux reports changes by rtnetlink. A sandbox may refuse it: then `online` is missing, and `capabilities.network` of
    the result of `initialize` is `false`.
  """
