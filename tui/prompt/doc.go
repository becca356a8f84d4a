// Package prompt is a line that the user types into: text and a cursor. It does no I/O; its user calls for the parts
// to draw.
//
// It does not use the textinput of charmbracelet/bubbles (tried with v1.0.0). That one shows its cursor by colour
// alone, so not at all under NO_COLOR; it keeps characters that reorder a line; and it edits only by keys of its own,
// while kx's keys are commands that the user can remap. An adapter would be as long as this package.
package prompt
