// Package shell writes commands for a POSIX shell: those that the screen offers to copy.
//
// [Quote], [Line] and [Heredoc] take any text. In their output, nothing has a meaning to a shell except as the same
// words. [Ways] takes a request, as written and in its wire form, and returns the commands that send the same:
// kubectl's, kx's and curl's, or the reason why a program has no command for it.
package shell
