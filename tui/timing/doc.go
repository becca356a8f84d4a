// Package timing says where the time of a request went: work of each step apart from what it called, asking etcd, waiting
// for the watch cache, and being held or delayed on purpose.
//
// What comes in is a journey, what goes out are durations and, for each step, a bar in a given number of cells. It is
// pure. Steps that ran at the same time may take more together than their caller did; what is negative is nothing.
package timing
