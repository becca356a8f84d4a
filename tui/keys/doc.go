// Package keys maps keys to commands. A [Command] is declared once, by the screen that does it: its ID, what its keys mean,
// where and when it applies, its help and the function that does it. Hints, help, the palette and docs/keys.md are drawn
// from the commands.
//
// # Invariants
//
//  1. A key means the same on every screen: commands take their keys from a [Meaning], and no two meanings share a key.
//     docs/keys.md lists the meanings.
//  2. [New] refuses two commands with one key in one context, also when the user rebinds keys.
//  3. In a context that types, characters are text: only the other keys of a command count there.
//  4. A command applies in the contexts that it lists, and in no other.
//  5. Of Bubble Tea, only tea.Cmd is known here: a key is its name.
package keys
