// Package editor is a text of several lines that one types into: a cursor, insertion, deletion, undo, and a window on it.
//
// What comes in are keys' commands, and text that was typed or pasted. What goes out are lines of an exact size, and the
// text. It knows nothing of what the text is: [Mark]s beside lines come from whoever does.
//
// # Invariants
//
//  1. The text is kept as it was put in, but for ends of lines, which are \n; what is shown of it is clean.
//  2. Every change goes through one function, which can undo it.
//  3. A frame costs what is visible of the text, not what it holds.
package editor
