// Package volumespec has the rules for the spec of a persistent volume: of an object of its own, or inline in the attachment
// of a volume to a node.
//
// In comes a spec; out go its defaults and its mistakes. What a volume shares with the volumes of pods is validated by
// core/podspec, and what it shares with claims by core/claim.
package volumespec
