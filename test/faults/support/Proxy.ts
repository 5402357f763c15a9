// Until every test imports it from its new place.
export * from "../../support/Proxy.ts"
