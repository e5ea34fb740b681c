// swift-tools-version: 6.2
// The engine without the wire, to be timed: a package of its own, so that the main one gains no target.

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
