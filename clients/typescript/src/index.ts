export * from "./client";
export * from "./errors";
export * from "./find";
export * from "./prompts";
export * from "./protocol";
