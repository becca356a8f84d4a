// Package patchwork bounds the work of JSON patches and merge patches.
//
// In come a patch and the document to apply it to; out comes an error if that could take too long. An operation on an
// element of a list copies the list. A field that lies deep makes the library scan and copy what is below each level on
// the way to it, and once more when the result is written. Both estimates may be too high.
package patchwork

import (
	"fmt"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

const (
	// copiesMost limits the list elements that the operations of a patch may copy. Ten thousand operations on a list of
	// twenty thousand elements come to it; that takes a few seconds.
	copiesMost = 300_000_000
	// levelsMost limits the bytes of patch and document, times the levels through which they are scanned.
	levelsMost = 200_000_000
)

// Check refuses a JSON patch, sent in these bytes, that could take too long.
func Check(patch jsonpatch.Patch, sent, document []byte) error {
	bytes := len(document) + len(sent)
	elements, levels := 0, 0
	for _, operation := range patch {
		path, _ := operation.Path() // one without a path is refused later
		from, _ := operation.From()
		if kind := operation.Kind(); kind != "test" && kind != "replace" && (namesElement(path) || namesElement(from)) {
			elements++
		}
		levels = max(levels, strings.Count(path, "/"), strings.Count(from, "/"))
	}
	// No list has more elements than the text has bytes.
	if elements*(bytes+elements) > copiesMost {
		longest := max(longestList(document), longestList(sent)) + elements
		if most := copiesMost / elements; longest > most {
			return fmt.Errorf("%d operations on elements of lists of up to %d elements are too much work for one JSON patch, "+
				"where as many operations may make lists of %d elements: send several patches", elements, longest, most)
		}
	}
	return checkLevels(bytes, levels)
}

// CheckMerge refuses a merge patch that could take too long.
func CheckMerge(patch, document []byte) error {
	bytes := len(document) + len(patch)
	const levelBytes = len(`{"":`) // the least that a level takes
	if bytes*(len(patch)/levelBytes) <= levelsMost {
		return nil
	}
	return checkLevels(bytes, nesting(patch))
}

func checkLevels(bytes, levels int) error {
	if bytes*levels <= levelsMost {
		return nil
	}
	return fmt.Errorf("a patch and an object of %d bytes with fields %d levels deep are too much work, where fields of as many "+
		"bytes may be %d levels deep: send the whole object", bytes, levels, levelsMost/bytes)
}

// namesElement reports whether a JSON pointer may name an element of a list.
func namesElement(pointer string) bool {
	last := pointer[strings.LastIndexByte(pointer, '/')+1:]
	if last == "-" {
		return true
	}
	_, err := strconv.Atoi(last)
	return err == nil
}

// longestList returns the length of the longest list in JSON, or more. The outermost one does not count: that of a
// patch has the operations, and a document is an object.
func longestList(data []byte) (longest int) {
	walk(data, func(depth, elements int, list bool) {
		if list && depth > 1 {
			longest = max(longest, elements)
		}
	})
	return longest
}

// nesting returns how deep lists and objects lie in each other in JSON.
func nesting(data []byte) (deepest int) {
	walk(data, func(depth, _ int, _ bool) { deepest = max(deepest, depth) })
	return deepest
}

// walk calls visit at the end of each list and object in JSON, with its depth, 1 for the outermost one, and the number
// of its elements, or 1 if it has none.
func walk(data []byte, visit func(depth, elements int, list bool)) {
	var commas []int // of each open list or object
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			commas = append(commas, 0)
		case ',':
			if len(commas) > 0 {
				commas[len(commas)-1]++
			}
		case ']', '}':
			if len(commas) == 0 {
				continue
			}
			visit(len(commas), commas[len(commas)-1]+1, data[i] == ']')
			commas = commas[:len(commas)-1]
		}
	}
}
