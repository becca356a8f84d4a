// Package story is the screen Story: a request told in sentences, one for each step, beside the step's source. It
// opens above the others, and reads on by itself on request.
//
// It takes a journey; core/story writes the sentences. The cursor is on a whole sentence, however many lines it
// takes.
package story
