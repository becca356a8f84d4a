// Package disk writes files atomically, readable only by their owner.
//
// It takes a name and bytes. A concurrent reader sees either the old file or the new one.
package disk
