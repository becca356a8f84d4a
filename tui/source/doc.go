// Package source is the screen Source: one file of the server's source, as large as the terminal. It opens above the
// others: from a step, from a line of the server's map, from any text about a function.
package source
