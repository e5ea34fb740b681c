// swift-tools-version: 6.2
// The engine without the JSON-RPC server, for timing. A separate package, so that the main one
// gains no target.

import PackageDescription

let einlass = Context.environment["EINLASS_PACKAGE"] ?? "../../.."

let package = Package(
  name: "engine-benchmark",
  dependencies: [.package(name: "einlass", path: einlass)],
  targets: [
    .executableTarget(
      name: "EngineBenchmark", dependencies: [.product(name: "Einlass", package: "einlass")])
  ]
)
