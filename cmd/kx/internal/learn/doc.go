// Package learn holds the common code of the commands of kx learn: the lessons in the binary, the server of a lesson,
// and the verification without a screen.
//
// It finds lessons by name or file, and reports for each verified lesson whether its text holds.
package learn
