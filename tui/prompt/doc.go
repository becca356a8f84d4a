// Package prompt is a line that the user types into: text and a cursor. It does no I/O; whoever draws it asks for its parts.
//
// It is no textinput of charmbracelet/bubbles (tried with v1.0.0), which shows its cursor by colour alone and so not at all
// under NO_COLOR, keeps characters that reorder a line, and edits only by keys of its own: kx's keys are commands that the
// user can remap. Cleaning, drawing and a table from commands to its keys would take as many lines as what is here.
package prompt
