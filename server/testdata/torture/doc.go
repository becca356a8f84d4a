// Package torture runs kx as processes, harms them in every way it knows, and compares what clients saw with what etcd did.
//
//	go test .                                                    # the short form, under a minute
//	go test . -run TestTorture -v -timeout 0 -torture.for=1h     # the long one: round after round of a minute
//	go test . -run TestTorture -v -timeout 0 -torture.seed=42 -torture.rounds=1 -torture.length=1m    # one round again
//
// A round starts one kx with its own etcd, or several on an etcd of three members. Clients of several kinds write, read,
// list and watch, while nemeses (nemesis.go) kill, stop, pause, separate, slow down and fill up. Then all is healed, and
// the round's history is checked (history): single keys are linearizable, lists are etcd's state at their revision, watches
// have no gap, nothing acknowledged is lost. A seed decides what a round does and to whom, but not when exactly.
//
// docs/reliability.md says what was measured.
package torture
