// Package story is the screen Story: a request told in sentences, one a step, beside the source of the step that is told. It
// opens above the others, and reads on by itself if it is asked to.
//
// What comes in is a journey; the sentences are those of core/story. The cursor is on a sentence, however many lines that takes.
package story
