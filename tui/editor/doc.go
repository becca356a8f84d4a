// Package editor is a multi-line text editor: a cursor, insertion, deletion, undo, and a window on the text. [Line] is
// a single line to type into.
//
// It takes commands, and typed or pasted text. It returns lines of an exact size, and the text. The editor does not
// know the meaning of the text: [Look] marks wrong lines.
//
// It does not use the textarea of charmbracelet/bubbles (tried with v1.0.0), which has no undo, no place for a press
// of the mouse, no scrolling sideways and no colours within the text. The textarea keeps 10,000 lines and drops the
// rest in silence, turns tabs into spaces and the line ends of pasted text (\r\n) into empty lines, and shows its
// cursor by colour alone. It wraps and draws the whole text for each frame: a key takes 0.7 s in a body of 1 MiB, and
// 0.1 ms here.
//
// # Invariants
//
//  1. The text stays as it was entered, except that line ends become \n; its rendering is cleaned.
//  2. Every change goes through one function, which can undo it.
//  3. The cost of a frame depends on the visible part of the text, not on its length.
package editor
