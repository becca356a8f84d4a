// Package lang translates the words that users read: English, in which the code is written, and Chinese.
//
// What comes in is an English text: a title, a sentence with placeholders, a format. What goes out is the same in the
// reader's [Language], or the English text where the catalogue has none. The folder zh has the Chinese of each
// room in a file at the room's path; zh/all.txt has what several rooms say. The reasons of steps are not in it: a
// journey brings their sentences.
//
// # Invariants
//
//  1. The English text is its own key. A changed text leaves no stale translation behind: the new text is missing
//     until it is translated, and the old entry is unused. A test names both.
//  2. A translation has the placeholders of its English text.
//  3. Names are not translated: IDs of steps, functions, resources, objects, files, commands and flags. Neither are
//     errors of the API, stored data, and output for programs.
//  4. No language is process-wide. The command passes it as a value down to the code that shows words.
package lang
