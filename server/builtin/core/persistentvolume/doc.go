// Package persistentvolume is the resource persistentvolumes: storage that claims are bound to.
//
// It owns their defaults, validation, columns and status. What a volume shares with the volumes of pods is validated by
// core/podspec, and what it shares with claims by core/claim.
package persistentvolume
