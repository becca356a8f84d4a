//go:build race

package main

// raceDetector says that memory can't be measured: the race detector takes several times as much.
const raceDetector = true
