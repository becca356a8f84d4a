// Package keys maps keys to commands. A screen declares each [Command] once: its ID, the meaning of its keys, where
// and when it applies, its help and its function. Hints, help, the palette and docs/keys.md are drawn from the
// commands.
//
// # Invariants
//
//  1. A key means the same on every screen: commands take their keys from a [Meaning], and no two meanings share a
//     key. docs/keys.md lists the meanings.
//  2. [New] refuses two commands with one key in one context, including keys that the user rebinds.
//  3. In a context that types, characters are text: only a command's other keys work there.
//  4. A command applies in the contexts that it lists, and in no other.
//  5. The only type of Bubble Tea used here is tea.Cmd: a key is a string, its name.
package keys
