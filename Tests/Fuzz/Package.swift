// swift-tools-version: 6.2
// Fuzz targets in a separate package, so that an ordinary build does not compile them. `run` builds
// it.

import PackageDescription

let package = Package(
  name: "fuzz",
  dependencies: [.package(name: "einlass", path: "../..")],
  targets: [
    .target(name: "CFuzzer"),
    .executableTarget(
      name: "Fuzz", dependencies: ["CFuzzer", .product(name: "EinlassParts", package: "einlass")]),
  ]
)
