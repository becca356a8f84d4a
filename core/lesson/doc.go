// Package lesson defines the format of lessons: a Markdown file whose fenced blocks hold commands, questions and
// expected output.
//
// What comes in are the bytes of a file. What goes out is a [Lesson]: its description and its parts in the order of
// the file. An error gives the file, the line and what was expected there. docs/learn/README.md describes the format.
//
// # Invariants
//
//  1. A lesson that [Parse] returns can be played: each block that another names is there, and stands where it can be
//     played; filters parse; each task has a starter, a solution and an expectation.
//  2. Nothing is run here, and no file is read.
package lesson
