// Package learn has what the commands of kx learn share: the lessons that travel in the binary, the server of a lesson,
// and the verification without a screen.
//
// What comes in are the names of lessons, or files. What goes out are lessons that can be played, and of each verified
// one whether it tells the truth.
package learn
