// Package editor is a text of several lines that the user types into: a cursor, insertion, deletion, undo, and a window on it.
//
// What comes in are commands, and text that was typed or pasted. What goes out are lines of an exact size, and the text. The
// editor does not know what the text means: [Look] says which lines are wrong.
//
// It is no textarea of charmbracelet/bubbles (tried with v1.0.0). That one has no undo, no place for a press of the mouse, no
// scrolling sideways and no colours within the text. It keeps 10,000 lines and drops the rest in silence, turns tabs into
// spaces and the line ends of pasted text (\r\n) into empty lines, and shows its cursor by colour alone. It wraps and draws
// the whole text for each frame: a key takes 0.7 s in a body of 1 MiB, and 0.1 ms here.
//
// # Invariants
//
//  1. The text is kept as it was put in, but for ends of lines, which are \n; what is shown of it is clean.
//  2. Every change goes through one function, which can undo it.
//  3. A frame costs what is in view of the text, not what it holds.
package editor
