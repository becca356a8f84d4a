// Package pane holds the code that all panes of the screen share, and the pane that most of them are: [Rows]. The other
// panes are plain structs in packages below this one, and in tui/source.
//
// # Invariants
//
//  1. Render returns exactly the lines and cells of the last SetSize, whatever the pane shows.
//  2. A pane's work is proportional to what is visible of it, not to what it holds.
//  3. A pane never reads or writes anything outside of it, and knows no other pane: the root routes.
package pane
