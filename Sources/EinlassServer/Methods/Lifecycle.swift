internal import EinlassJSON
internal import EinlassRPC

/// `rpc.discover`: returns the protocol document.
func discover(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "rpc.discover", .immediate, "The OpenRPC document of this program, without examples.",
      result: .any,
      isLineLimited: false),
    .urgent { _, _ throws(RPCError) in server.protocolDocument })
}
