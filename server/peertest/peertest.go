// Package peertest has the servers that an API server calls, for tests: a webhook that converts custom resources
// ([Webhook]), an issuer of OpenID Connect ([Issuer]) and a collector of traces ([Collector]).
//
// Each listens on a port of its own until its test ends, and says what it was sent.
package peertest
