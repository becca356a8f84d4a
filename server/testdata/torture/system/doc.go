// Package system runs what is tortured: kx and etcd as processes, and the proxies between them.
//
// What comes in is which processes there are; what goes out are their addresses, and the means to kill, stop, pause,
// separate and fill them up. A process keeps its data directory and its address over all of that. An etcd is the test
// binary itself, started anew: see Main.
package system
