// Package disk writes files whole or not at all.
//
// It takes a name and bytes. A concurrent reader sees either the old file or the new one. Only a new file that is a
// copy is not whole before [Copy] returns.
package disk
