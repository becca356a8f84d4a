// Package child runs a program beside a server of this process: the command of kx test, or the command for which kx
// started a server itself.
//
// In come the program and the signals of this process. Out goes the program's exit code.
//
// # Invariants
//
//  1. A signal reaches the program's processes once. At a terminal they share this process's group, and the terminal
//     sends interrupts to all of it. Elsewhere they have a group of their own, which gets each signal from here.
//  2. The exit code of a program that a signal ended is 128 and the signal, as in a shell.
package child
