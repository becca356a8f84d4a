// Package whole writes files whole or not at all, readable by their owner alone.
//
// What comes in are a name and bytes. What goes out is the file: who reads it meanwhile has the old one or the new one.
package whole
