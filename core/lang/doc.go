// Package lang has the words that people read in their own language: English, which the code is written in, and
// Chinese.
//
// What comes in is an English text: a title, a sentence with placeholders, a format. What goes out is the same in the
// reader's [Language], or the English text where the catalogue has none. The catalogue of Chinese is zh.txt.
//
// # Invariants
//
//  1. The English text is its own key. Who changes it leaves no stale translation behind: the new text is missing until
//     it is translated, and the old entry is one that nobody uses. A test names both.
//  2. A translation has the placeholders of its English text.
//  3. Names are not translated: IDs of steps, functions, resources, objects, files, commands and flags. Neither are
//     errors of the API, what is stored, and anything that programs read.
//  4. No language is process-wide. It is a value that is handed down from the command to what shows words.
package lang
